// SPDX-License-Identifier: Apache-2.0
//! Detects that a node's clock was set back (PTP, NTP) by less than a restart takes: from one
//! report on, all times are earlier than before, and go on from there.
//!
//! A backlog is no such step: its times never go back. Neither is reordering: reports on the
//! old time axis come in between.

/// Smallest step detected; a smaller one only makes telemetry look that much older.
const LEAST_NS: u64 = 200_000_000;
/// How many reports must agree, and for how long.
const REPORTS: u32 = 8;
const LASTS_NS: u64 = 1_000_000_000;

/// Looks for steps in the reports of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SetBack {
    run: Option<Run>,
}

/// Reports behind the time axis.
#[derive(Clone, Debug, PartialEq)]
struct Run {
    /// Reception time of the first report.
    since_rx_ns: u64,
    /// Node time minus reception time on the axis before the step, ns.
    axis_offset_ns: i64,
    reports: u32,
}

impl SetBack {
    /// Whether a step is suspected: no report on the axis may be skipped then.
    #[inline(always)]
    pub(super) fn is_looking(&self) -> bool {
        self.run.is_some()
    }

    /// Takes a report; returns whether a step is now certain. `axis_ns` is the latest time before
    /// the report, `ahead_ns` the greatest node time minus reception time.
    pub(super) fn observe(
        &mut self,
        time_ns: u64,
        rx_ns: u64,
        axis_ns: u64,
        ahead_ns: i64,
    ) -> bool {
        let offset_ns = time_ns.wrapping_sub(rx_ns) as i64;
        let Some(run) = &mut self.run else {
            if time_ns.saturating_add(LEAST_NS) < axis_ns {
                self.run = Some(Run {
                    since_rx_ns: rx_ns,
                    axis_offset_ns: ahead_ns,
                    reports: 1,
                });
            }
            return false;
        };
        // Back on the axis: the report was only late.
        if offset_ns.saturating_add_unsigned(LEAST_NS) > run.axis_offset_ns {
            self.run = None;
            return false;
        }
        run.reports = run.reports.saturating_add(1);
        let lasts_ns = rx_ns.saturating_sub(run.since_rx_ns);
        if run.reports < REPORTS || lasts_ns < LASTS_NS {
            return false;
        }
        self.run = None;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Counts steps in one report per ms, whose clock is `clock(ms)` and delay `delay(ms)`.
    fn steps(clock: impl Fn(u64) -> u64, delay: impl Fn(u64) -> u64) -> usize {
        let (mut found, mut axis, mut ahead) = (0, 0, i64::MIN);
        let mut set_back = SetBack::default();
        for ms in 0..10_000 {
            let (time, rx) = (clock(ms), (100_000 + ms + delay(ms)) * MS);
            if set_back.observe(time, rx, axis, ahead) {
                found += 1;
                (axis, ahead) = (0, i64::MIN);
            }
            axis = axis.max(time);
            ahead = ahead.max(time.wrapping_sub(rx) as i64);
        }
        found
    }

    #[test]
    fn a_step_back_is_told_and_a_backlog_is_none() {
        let set_back =
            |by: u64| move |ms: u64| (50_000 + ms - if ms >= 4000 { by } else { 0 }) * MS;
        for by in [250, 500, 1900] {
            assert_eq!(steps(set_back(by), |_| 0), 1);
            assert_eq!(steps(set_back(by), |ms| ms * 7919 % 13), 1, "with jitter");
        }
        assert_eq!(steps(set_back(150), |_| 0), 0);
        let twice = |ms: u64| (50_000 + ms - (ms / 4000) * 1900) * MS;
        assert_eq!(steps(twice, |_| 0), 2);
        // A queue of two seconds on the way, for good; one report in ten overtaken.
        assert_eq!(
            steps(set_back(0), |ms| if ms >= 4000 { 2000 } else { 0 }),
            0
        );
        let overtaken = |ms: u64| (50_000 + ms - if ms.is_multiple_of(10) { 300 } else { 0 }) * MS;
        assert_eq!(steps(overtaken, |_| 0), 0);
    }
}
