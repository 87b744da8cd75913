// SPDX-License-Identifier: Apache-2.0
//! Stationarity window: the time since which traffic and limit of a link are unchanged.
//!
//! A window that mixes two limits, or the traffic before and after a change, describes neither.
//! Advice is based on the time after the change.

use crate::time::nanoseconds;
use std::sync::Arc;
use tidemark_estimators::{Estimate, LinkEstimate};

/// N_b counts as changed if its intervals do not overlap and it moved by this fraction...
const N_B_FRACTION: f64 = 0.25;
/// ...and by this many flows.
const N_B_FLOWS: f64 = 1.5;
/// Ticks in a row that must show the change.
const CONFIRMATIONS: u32 = 2;
/// Time after which the reference for the traffic is measured again, unless the traffic seems to
/// differ earlier, ns.
const COMPARED_WITH_FOR_NS: u64 = 5_000_000_000;
/// Length of the shortest window in effective RTTs.
const LEAST_RTTS: f64 = 50.0;
/// Factor by which T_e may grow before the windows get longer: so an estimate seldom turns out to
/// need a longer window and has to be repeated.
const ROOM: f64 = 1.05;

/// Span of an estimate, on the switch's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EstimationWindow {
    /// Start, ns.
    pub from_ns: u64,
    /// End, ns.
    pub to_ns: u64,
    /// Whether it is long enough and lies entirely after the last change.
    pub pure: bool,
}

/// Lengths of estimation windows, s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowLengths {
    /// Normal length.
    pub window_s: f64,
    /// Shortest length on which advice may be based.
    pub short_s: f64,
    /// Age up to which records are kept.
    pub retention_s: f64,
}

impl WindowLengths {
    /// Returns normal and shortest length, ns, both at least `least_ns`.
    fn at_least(self, least_ns: u64) -> (u64, u64) {
        let window_ns = nanoseconds(self.window_s);
        let short_ns = nanoseconds(self.short_s).min(window_ns);
        (window_ns.max(least_ns), short_ns.max(least_ns))
    }
}

/// Telemetry of a link, from which estimates can be requested. Times are ns on the switch's clock.
pub trait Telemetry {
    /// Returns the start of the oldest stored record; `None` without records.
    fn first_ns(&self) -> Option<u64>;
    /// Returns the time before which all reports have arrived.
    fn complete_ns(&self) -> u64;
    /// Returns the limit stated by the reports, bytes; 0 if unlimited or not reported.
    fn reported_limit_bytes(&self) -> u64;
    /// Returns the estimate over `[from_ns, to_ns)`.
    fn estimate(&self, from_ns: u64, to_ns: u64) -> LinkEstimate;
    /// Returns the estimate, and N_b alone over its last part, from `recent_ns`.
    fn estimate_and_recent_n_b(
        &self,
        from_ns: u64,
        to_ns: u64,
        recent_ns: u64,
    ) -> (LinkEstimate, Estimate) {
        let estimate = self.estimate(from_ns, to_ns);
        (estimate, self.n_b(recent_ns, to_ns))
    }

    /// Returns N_b alone over `[from_ns, to_ns)`, equal to that of the estimate.
    fn n_b(&self, from_ns: u64, to_ns: u64) -> Estimate {
        self.estimate(from_ns, to_ns).estimates.n_b
    }
}

/// The estimate of one tick and its window.
#[derive(Clone, Debug)]
pub struct WindowEstimate {
    /// The estimate.
    pub estimate: Arc<LinkEstimate>,
    /// Whether advice may be based on it: long enough, and entirely after the last change.
    pub pure: bool,
    /// Whether the reports state another limit than in the last tick.
    pub limit_changed: bool,
    /// How the traffic changed, if it did.
    pub traffic_changed: Option<String>,
    /// The stationarity window after this tick.
    pub stationarity: StationarityWindow,
}

/// Memory of the changes at a link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StationarityWindow {
    since_ns: u64,
    reported_limit_bytes: Option<u64>,
    suspected: u32,
    compared_with: Option<ComparedWith>,
    /// Length of the shortest window, by T_e of the last tick, ns.
    least_ns: u64,
}

/// N_b before the last short window, as measured a little earlier.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ComparedWith {
    n_b: Estimate,
    /// Stationarity start and end of the records at that time, ns.
    since_ns: u64,
    at_ns: u64,
}

impl StationarityWindow {
    /// Returns the start of the stationarity window, ns on the switch's clock.
    pub fn since_ns(&self) -> u64 {
        self.since_ns
    }

    /// Discards everything before `at_ns`.
    pub fn restart(&mut self, at_ns: u64) {
        self.since_ns = self.since_ns.max(at_ns);
        self.suspected = 0;
    }

    /// Estimates over the window that ends with the last completely received data and starts after
    /// the last change of limit or traffic. `None` without records.
    pub fn window_estimate(
        mut self,
        telemetry: &dyn Telemetry,
        l: WindowLengths,
    ) -> Option<WindowEstimate> {
        let end_ns = telemetry.complete_ns();
        let first_ns = telemetry.first_ns()?;
        if end_ns <= first_ns {
            return None;
        }
        let (mut window_ns, mut short_ns) = l.at_least(self.least_ns);
        let limit_changed = self.limit_reported(telemetry.reported_limit_bytes());
        if limit_changed {
            self.restart(end_ns);
        }
        let mut window = self.estimation_window(first_ns, end_ns, window_ns, short_ns);
        let (mut estimate, mut recent) = self.estimates(telemetry, window, short_ns);
        let t_e_ms = estimate.estimates.t_e_ms.map_or(0.0, |t_e| t_e.value);
        let least_s = (LEAST_RTTS * t_e_ms / 1e3).min(l.retention_s);
        let too_short = nanoseconds(least_s) > short_ns;
        // The lengths stay if they would be only a little shorter.
        if too_short || nanoseconds(least_s * ROOM * ROOM) < self.least_ns {
            self.least_ns = nanoseconds((least_s * ROOM).min(l.retention_s));
        }
        if too_short {
            (window_ns, short_ns) = l.at_least(self.least_ns);
            window = self.estimation_window(first_ns, end_ns, window_ns, short_ns);
            (estimate, recent) = self.estimates(telemetry, window, short_ns);
        }
        let mut traffic_changed = None;
        if let Some(((from_ns, to_ns), now)) = self.earlier(window, short_ns).zip(recent) {
            let before = match self.compared_with(end_ns) {
                Some(known) if !differs(&known, &now) => known,
                _ => telemetry.n_b(from_ns, to_ns),
            };
            self.remember(before, end_ns);
            if self.traffic(&before, &now) {
                // The change lies within the short window, on average in its middle.
                self.restart(end_ns - short_ns / 2);
                window.pure = false;
                estimate = telemetry.estimate(end_ns - short_ns, end_ns);
                traffic_changed = Some(format!(
                    "N_b was {:.0} and is {:.0} in the last {:.1} s",
                    before.value,
                    now.value,
                    short_ns as f64 / 1e9
                ));
            }
        }
        Some(WindowEstimate {
            estimate: Arc::new(estimate),
            pure: window.pure,
            limit_changed,
            traffic_changed,
            stationarity: self,
        })
    }

    /// Returns the estimate over a window, and N_b of its last `short_ns` if it is compared with an
    /// earlier value.
    fn estimates(
        &self,
        telemetry: &dyn Telemetry,
        window: EstimationWindow,
        short_ns: u64,
    ) -> (LinkEstimate, Option<Estimate>) {
        let (from_ns, to_ns) = (window.from_ns, window.to_ns);
        if self.earlier(window, short_ns).is_none() {
            return (telemetry.estimate(from_ns, to_ns), None);
        }
        let recent_ns = to_ns.saturating_sub(short_ns);
        let (estimate, n_b) = telemetry.estimate_and_recent_n_b(from_ns, to_ns, recent_ns);
        (estimate, Some(n_b))
    }

    /// Returns the window of an estimate now: of normal length but after the last change; never
    /// shorter than `short_ns` if there are records for it.
    fn estimation_window(
        &self,
        first_ns: u64,
        end_ns: u64,
        window_ns: u64,
        short_ns: u64,
    ) -> EstimationWindow {
        let longest = end_ns.saturating_sub(window_ns).max(first_ns);
        let shortest = end_ns.saturating_sub(short_ns).max(first_ns);
        let from_ns = longest.max(self.since_ns.min(shortest));
        EstimationWindow {
            from_ns,
            to_ns: end_ns,
            pure: from_ns >= self.since_ns && end_ns - from_ns >= short_ns,
        }
    }

    /// Returns the part of a window before its last `short_ns`, if at least as long: the reference
    /// for the present traffic.
    fn earlier(&self, window: EstimationWindow, short_ns: u64) -> Option<(u64, u64)> {
        let from_ns = window.from_ns.max(self.since_ns);
        let to_ns = window.to_ns.saturating_sub(short_ns);
        (to_ns >= from_ns + short_ns).then_some((from_ns, to_ns))
    }

    /// Returns the earlier N_b if it was measured recently and nothing has changed since.
    fn compared_with(&self, end_ns: u64) -> Option<Estimate> {
        let known = self.compared_with?;
        let is_recent = end_ns.saturating_sub(known.at_ns) < COMPARED_WITH_FOR_NS;
        (is_recent && known.since_ns == self.since_ns).then_some(known.n_b)
    }

    fn remember(&mut self, n_b: Estimate, end_ns: u64) {
        if self.compared_with(end_ns) != Some(n_b) {
            self.compared_with = Some(ComparedWith {
                n_b,
                since_ns: self.since_ns,
                at_ns: end_ns,
            });
        }
    }

    /// Stores the limit stated by the reports; returns whether it changed.
    fn limit_reported(&mut self, bytes: u64) -> bool {
        let before = self.reported_limit_bytes.replace(bytes);
        before.is_some_and(|b| b != bytes)
    }

    /// Compares earlier and present N_b; returns whether the traffic has changed.
    fn traffic(&mut self, before: &Estimate, now: &Estimate) -> bool {
        if differs(before, now) {
            self.suspected += 1;
        } else {
            self.suspected = 0;
        }
        self.suspected >= CONFIRMATIONS
    }
}

/// Returns whether two values of N_b differ significantly.
pub(crate) fn differs(a: &Estimate, b: &Estimate) -> bool {
    let by = (a.value - b.value).abs();
    let apart = a.low > b.high || b.low > a.high;
    apart && by > N_B_FLOWS && by > N_B_FRACTION * a.value.max(b.value)
}

#[cfg(test)]
mod tests;
