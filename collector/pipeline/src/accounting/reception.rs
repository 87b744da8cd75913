// SPDX-License-Identifier: Apache-2.0
//! Limits how early a report may arrive: none arrives before it was sent.
//!
//! Node time minus reception time is greatest for the report with the least delay. A report far
//! above all before it claims a time in the future.
//!
//! This holds for clocks that run in real time. A capture replayed at another speed has a clock
//! that does not: its reports are never too early.

/// After this much reception time the least delay counts as seen.
const SETTLING_NS: u64 = 1_000_000_000;
/// A report may be this much earlier than any before it: the least delay is
/// rare on a loaded path.
const MAX_EARLY_NS: i64 = 100_000_000;
/// Clocks drift apart by less than one part in this.
const DRIFT: u64 = 1_000;

/// A clock that gains or loses more than one part in this while settling does not run in real time.
const REAL_TIME: u64 = 5;
/// Nor does a clock that keeps gaining: this many reports in a row, received over at least
/// [`GAINING_NS`], were all earlier than drift allows.
const GAINING_REPORTS: u32 = 8;
const GAINING_NS: u64 = 20_000_000;

/// Pace of a node's clock relative to reception, as far as known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Pace {
    /// Not enough has been received.
    #[default]
    Settling,
    /// Runs in real time.
    Real,
    /// Does not run in real time: no report is too early.
    Other,
}

/// Tracks the greatest node time minus reception time so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reception {
    /// Node time and reception of the first report.
    first_ns: Option<(u64, u64)>,
    pace: Pace,
    ahead_ns: i64,
    /// Reception time of the report that set `ahead_ns`.
    rx_ns: u64,
    gaining: Gaining,
}

/// Reports in a row that are earlier than drift allows, but not too early.
#[derive(Clone, Debug, Default, PartialEq)]
struct Gaining {
    reports: u32,
    /// Reception time of the first report.
    since_ns: u64,
    /// Node time of the last report; the time axis has moved on if a report in between was not
    /// early.
    time_ns: u64,
}

impl Reception {
    /// Whether a report adds nothing: relative to reception, it is no earlier than one before it.
    #[inline(always)]
    pub(super) fn is_known(&self, time_ns: u64, rx_ns: u64) -> bool {
        match self.pace {
            Pace::Real => time_ns.wrapping_sub(rx_ns) as i64 <= self.ahead_ns,
            Pace::Settling => false,
            Pace::Other => true,
        }
    }

    /// Whether the clock runs in real time, and the least delay has been seen.
    pub(super) fn is_settled(&self) -> bool {
        self.pace == Pace::Real
    }

    /// Whether the clock is known not to run in real time.
    pub(super) fn is_of_other_pace(&self) -> bool {
        self.pace == Pace::Other
    }

    /// Returns the node's time for a packet received with the least delay at `rx_ns`; `rx_ns`
    /// itself if the node's clock is unknown.
    pub(super) fn node_ns(&self, rx_ns: u64) -> u64 {
        match self.first_ns {
            Some(_) => rx_ns.saturating_add_signed(self.ahead_ns),
            None => rx_ns,
        }
    }

    /// Returns the greatest node time minus reception time so far, ns.
    pub(super) fn ahead_ns(&self) -> i64 {
        self.ahead_ns
    }

    /// Returns the greatest `ahead_ns` that drift allows by now, ns.
    fn limit_ns(&self, rx_ns: u64) -> i64 {
        let elapsed = rx_ns.saturating_sub(self.rx_ns) / DRIFT;
        self.ahead_ns.saturating_add_unsigned(elapsed)
    }

    /// Whether a report claims a time that has not come yet. `axis_ns` is the
    /// latest time on the node's time axis.
    ///
    /// A clock that gains steadily first sends reports that are early but still allowed. It is
    /// recognised by them, and none of its reports is refused.
    pub(super) fn is_early(&mut self, time_ns: u64, rx_ns: u64, axis_ns: u64) -> bool {
        let ahead_ns = time_ns.wrapping_sub(rx_ns) as i64;
        if !self.is_settled() || ahead_ns <= self.limit_ns(rx_ns).saturating_add(MAX_EARLY_NS) {
            return false;
        }
        let gaining = &self.gaining;
        if gaining.reports >= GAINING_REPORTS
            && gaining.time_ns == axis_ns
            && rx_ns.saturating_sub(gaining.since_ns) >= GAINING_NS
            && time_ns.saturating_sub(axis_ns) < GAINING_NS
        {
            self.pace = Pace::Other;
            return false;
        }
        true
    }

    /// Counts a report that is earlier than drift allows. `axis_ns` as for
    /// [`Reception::is_early`], before the report.
    fn gain(&mut self, time_ns: u64, rx_ns: u64, axis_ns: u64) {
        if self.gaining.reports == 0 || self.gaining.time_ns != axis_ns {
            self.gaining = Gaining {
                since_ns: rx_ns,
                ..Gaining::default()
            };
        }
        self.gaining.reports = self.gaining.reports.saturating_add(1);
        self.gaining.time_ns = time_ns.max(axis_ns);
    }

    /// Takes a report that is on the node's time axis. `axis_ns` as for
    /// [`Reception::is_early`], before the report.
    pub(super) fn observe(&mut self, time_ns: u64, rx_ns: u64, axis_ns: u64) {
        if self.pace == Pace::Other {
            return;
        }
        let ahead_ns = time_ns.wrapping_sub(rx_ns) as i64;
        let Some((first_ns, first_rx_ns)) = self.first_ns else {
            self.first_ns = Some((time_ns, rx_ns));
            (self.ahead_ns, self.rx_ns) = (ahead_ns, rx_ns);
            self.gaining = Gaining::default();
            return;
        };
        match self.is_settled() && ahead_ns > self.limit_ns(rx_ns) {
            true => self.gain(time_ns, rx_ns, axis_ns),
            false => self.gaining.reports = 0,
        }
        if ahead_ns > self.ahead_ns {
            // Once settled, one report moves the estimate by no more than drift allows.
            self.ahead_ns = match self.is_settled() {
                true => ahead_ns.min(self.limit_ns(rx_ns)),
                false => ahead_ns,
            };
            self.rx_ns = rx_ns;
        }
        let received_ns = rx_ns.saturating_sub(first_rx_ns);
        if self.pace == Pace::Settling && received_ns >= SETTLING_NS {
            let off_ns = time_ns.saturating_sub(first_ns).abs_diff(received_ns);
            self.pace = if off_ns <= received_ns / REAL_TIME {
                Pace::Real
            } else {
                Pace::Other
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;
    const MS: u64 = 1_000_000;

    #[test]
    fn the_least_delay_is_learnt_while_settling() {
        let mut r = Reception::default();
        r.observe(10 * S, 3 * S, 0);
        assert!(!r.is_early(20 * S, 3 * S, 0), "nothing is known yet");
        r.observe(10 * S + 600 * MS, 3 * S + 500 * MS, 0);
        r.observe(11 * S + 100 * MS, 4 * S, 0);
        assert!(r.is_settled());
        assert!(r.is_known(11 * S + 50 * MS, 4 * S));
        assert!(!r.is_early(11 * S + 199 * MS, 4 * S, 0));
        assert!(r.is_early(11 * S + 201 * MS, 4 * S, 0));
    }

    #[test]
    fn a_replay_at_another_speed_is_never_early() {
        for speed in [2, 10] {
            let mut r = Reception::default();
            for ms in 0..5_000 {
                let (time_ns, rx_ns) = (S + ms * speed * MS, S + ms * MS);
                assert!(!r.is_early(time_ns, rx_ns, 0), "{speed} {ms}");
                r.observe(time_ns, rx_ns, 0);
            }
            assert!(!r.is_settled() && r.is_known(100 * S, S));
        }
    }

    #[test]
    fn early_reports_cannot_walk_away_with_the_clock() {
        let mut r = Reception::default();
        r.observe(S, S, 0);
        r.observe(2 * S, 2 * S, 0);
        for i in 0..100 {
            let rx_ns = 2 * S + i * 10 * MS;
            let forged = rx_ns + 90 * MS;
            assert!(!r.is_early(forged, rx_ns, 0));
            r.observe(forged, rx_ns, 0);
        }
        // Two seconds have passed, so drift allows two milliseconds.
        assert!(r.is_early(3 * S + 103 * MS, 3 * S, 0));
    }
}
