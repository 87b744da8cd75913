// SPDX-License-Identifier: Apache-2.0
//! A node's clock that was set back by less than a restart takes (PTP, NTP): from one
//! report on, all are dated before what was seen, and go on from there.
//!
//! A backlog is no such step: its times never go back. Neither is reordering: reports on the
//! old time axis come in between.

/// A smaller step makes telemetry look as much older, and is left alone.
const LEAST_NS: u64 = 200_000_000;
/// Reports that agree, and for how long.
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
    /// Reception of the first.
    since_rx_ns: u64,
    /// Of the axis, as it was.
    axis_offset_ns: i64,
    reports: u32,
}

impl SetBack {
    /// Whether reports are looked at: none on the axis may be left out then.
    #[inline(always)]
    pub(super) fn is_looking(&self) -> bool {
        self.run.is_some()
    }

    /// Takes a report; `axis_ns`: the latest time before it, `ahead_ns`: greatest node time
    /// less reception. True once a step is certain.
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
        // Back on the axis: it was late.
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

    /// Reports a millisecond; the clock is `clock(ms)`, the delay `delay(ms)`.
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
