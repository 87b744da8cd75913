// SPDX-License-Identifier: Apache-2.0
//! Since when the traffic and the limit of a link have been what they are.
//!
//! A window that mixes two limits, or traffic of before and after a change,
//! describes neither: advice is based on what came after.

use tidemark_estimators::Estimate;

/// N_b differs when its intervals are apart and it moved by this fraction...
const N_B_FRACTION: f64 = 0.25;
/// ...and by this many flows.
const N_B_FLOWS: f64 = 1.5;
/// Seconds in a row that must say so.
const CONFIRMATIONS: u32 = 2;

/// A window to estimate over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub from_ns: u64,
    pub to_ns: u64,
    /// Long enough, and all of it after the last change.
    pub pure: bool,
}

/// What is remembered of the changes at a link.
#[derive(Debug, Default)]
pub struct Conditions {
    /// Advice uses nothing from before this, on the switch's clock.
    since_ns: u64,
    reported_limit_bytes: Option<u64>,
    suspected: u32,
}

impl Conditions {
    /// Start of what counts, on the switch's clock.
    pub fn since_ns(&self) -> u64 {
        self.since_ns
    }

    /// Nothing before `at_ns` counts any more.
    pub fn changed(&mut self, at_ns: u64) {
        self.since_ns = self.since_ns.max(at_ns);
        self.suspected = 0;
    }

    /// The window of an estimate now: as long as wanted but after the last
    /// change; never shorter than `short_ns`, where there is so much.
    pub fn span(&self, first_ns: u64, end_ns: u64, window_ns: u64, short_ns: u64) -> Span {
        let longest = end_ns.saturating_sub(window_ns).max(first_ns);
        let shortest = end_ns.saturating_sub(short_ns).max(first_ns);
        let from_ns = longest.max(self.since_ns.min(shortest));
        Span {
            from_ns,
            to_ns: end_ns,
            pure: from_ns >= self.since_ns && end_ns - from_ns >= short_ns,
        }
    }

    /// The part of a window that lies before its last `short_ns`, when it is as
    /// long as that: what the traffic now is compared with.
    pub fn earlier(&self, span: Span, short_ns: u64) -> Option<(u64, u64)> {
        let from_ns = span.from_ns.max(self.since_ns);
        let to_ns = span.to_ns.saturating_sub(short_ns);
        (to_ns >= from_ns + short_ns).then_some((from_ns, to_ns))
    }

    /// Takes the limit that the reports state; true when it is another one.
    pub fn reported_limit(&mut self, bytes: u64) -> bool {
        let before = self.reported_limit_bytes.replace(bytes);
        before.is_some_and(|b| b != bytes)
    }

    /// Takes N_b of before and of now; true when the traffic has changed.
    pub fn traffic(&mut self, before: &Estimate, now: &Estimate) -> bool {
        if differs(before, now) {
            self.suspected += 1;
        } else {
            self.suspected = 0;
        }
        self.suspected >= CONFIRMATIONS
    }
}

/// Whether N_b is another one.
pub fn differs(a: &Estimate, b: &Estimate) -> bool {
    let by = (a.value - b.value).abs();
    let apart = a.low > b.high || b.low > a.high;
    apart && by > N_B_FLOWS && by > N_B_FRACTION * a.value.max(b.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_estimators::Evidence;

    fn n_b(value: f64) -> Estimate {
        Estimate {
            value,
            low: value * 0.9,
            high: value * 1.1,
            evidence: Evidence::Probed,
            samples: 10,
        }
    }

    #[test]
    fn windows_end_where_conditions_changed() {
        let mut c = Conditions::default();
        let span = |c: &Conditions, end| c.span(5, end, 100, 30);
        assert_eq!(span(&c, 200).from_ns, 100);
        assert!(span(&c, 200).pure);
        // Too early for a whole one, or even a short one.
        assert_eq!(span(&c, 60).from_ns, 5);
        assert!(!span(&c, 20).pure);
        c.changed(180);
        // Mixed, because nothing else is there yet.
        let mixed = span(&c, 200);
        assert_eq!((mixed.from_ns, mixed.pure), (170, false));
        let new = span(&c, 215);
        assert_eq!((new.from_ns, new.pure), (180, true));
        assert_eq!(span(&c, 400).from_ns, 300);
    }

    #[test]
    fn comparisons_need_as_much_before_as_now() {
        let mut c = Conditions::default();
        let span = c.span(0, 100, 100, 30);
        assert_eq!(c.earlier(span, 30), Some((0, 70)));
        c.changed(50);
        let span = c.span(0, 100, 100, 30);
        assert_eq!(c.earlier(span, 30), None);
    }

    #[test]
    fn traffic_changes_when_n_b_does_for_two_seconds() {
        let mut c = Conditions::default();
        assert!(!c.traffic(&n_b(12.0), &n_b(13.0)));
        assert!(!c.traffic(&n_b(4.0), &n_b(20.0)));
        assert!(!c.traffic(&n_b(12.0), &n_b(12.0)));
        assert!(!c.traffic(&n_b(4.0), &n_b(20.0)));
        assert!(c.traffic(&n_b(4.0), &n_b(30.0)));
        assert!(differs(&n_b(40.0), &n_b(8.0)));
        // One flow more is not another traffic.
        assert!(!differs(&n_b(2.0), &n_b(3.0)));
    }

    #[test]
    fn the_first_limit_is_no_change() {
        let mut c = Conditions::default();
        assert!(!c.reported_limit(5));
        assert!(!c.reported_limit(5));
        assert!(c.reported_limit(6));
    }
}
