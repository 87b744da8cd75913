// SPDX-License-Identifier: Apache-2.0
//! Time on a switch's clock, as well as the telemetry tells it.

use std::collections::VecDeque;
use tidemark_control::Timestamp;
use tidemark_proto::telemetry::ClockMapping;

/// How long a watermark counts, s.
const KEEP_S: f64 = 10.0;
/// How much slower than the host's clock a switch's clock may run before its data counts as late:
/// two crystals, and corrections of the host's clock.
const DRIFT: f64 = 1e-3;

/// The first watermark of another collector is late by less than this, s, unless the clock
/// restarted meanwhile.
const LATE_S: f64 = 10.0;

/// The clock of one node, seen from this host.
///
/// Watermarks are late by what the collector holds back, so the least late one of the last seconds
/// counts. If the collector publishes the Unix time of the switch's clock, that is used instead,
/// because it has no such delay.
#[derive(Debug, Default)]
pub struct SwitchClock {
    /// Arrival and (switch time - monotonic time) of the last watermarks, ns.
    offsets: VecDeque<(Timestamp, i128)>,
    /// The least late watermark so far, allowing for drift. A permanent lag is measured against
    /// this one, not against those of the last seconds.
    prompt: Option<(Timestamp, i128)>,
    /// Value of `prompt` from the previous collector, until the new one sends a watermark.
    before: Option<(Timestamp, i128)>,
    watermark_ns: u64,
    unix_offset_ns: Option<i128>,
}

impl SwitchClock {
    /// Notes that everything up to `time_ns` has arrived.
    pub fn watermark(&mut self, time_ns: u64, at: Timestamp) {
        let offset = i128::from(time_ns) - i128::from(at.monotonic_ns);
        if time_ns < self.watermark_ns {
            // The node's clock restarted.
            self.offsets.clear();
            self.prompt = None;
            self.unix_offset_ns = None;
        }
        self.watermark_ns = time_ns;
        self.before = None;
        if self.prompt_offset(at).is_none_or(|o| offset >= o) {
            self.prompt = Some((at, offset));
        }
        while self.offsets.back().is_some_and(|(_, o)| *o <= offset) {
            self.offsets.pop_back();
        }
        self.offsets.push_back((at, offset));
        while self
            .offsets
            .front()
            .is_some_and(|(t, _)| at.since_s(*t) > KEEP_S)
        {
            self.offsets.pop_front();
        }
    }

    /// Starts again with another collector. The switch may have restarted in between, and its clock
    /// may be past its earlier value: its offset from the host's clock is no longer known.
    pub fn collector_restarted(&mut self) {
        *self = Self {
            watermark_ns: self.watermark_ns,
            before: self.prompt.or(self.before),
            ..Self::default()
        };
    }

    /// Whether a watermark of `time_ns` shows that the clock restarted between two collectors: it
    /// is behind the previous collector's clock, although it may be past the last watermark from
    /// that collector.
    pub fn restarted_meanwhile(&self, time_ns: u64, at: Timestamp) -> bool {
        let offset = i128::from(time_ns) - i128::from(at.monotonic_ns);
        offset_now(self.before, at).is_some_and(|o| offset + ((LATE_S * 1e9) as i128) < o)
    }

    /// Takes the collector's mapping to Unix time.
    pub fn mapping(&mut self, m: &ClockMapping) {
        if m.unix_ns_at_reference > 0 {
            let offset = i128::from(m.reference_ns) - i128::from(m.unix_ns_at_reference);
            self.unix_offset_ns = Some(offset);
        }
    }

    /// Returns the offset of the least late watermark so far, minus the largest drift since then,
    /// ns.
    fn prompt_offset(&self, at: Timestamp) -> Option<i128> {
        offset_now(self.prompt, at)
    }

    /// Returns the time since the clock showed `time_ns`, s, by the least late watermark so far;
    /// `None` before the first. A lag that was there from the start is not noticed.
    pub fn age_s(&self, time_ns: u64, at: Timestamp) -> Option<f64> {
        let now_ns = self.prompt_offset(at)? + i128::from(at.monotonic_ns);
        let age_ns = now_ns - i128::from(time_ns);
        Some(age_ns.max(0) as f64 / 1e9)
    }

    /// Returns the time up to which everything has arrived.
    pub fn watermark_ns(&self) -> u64 {
        self.watermark_ns
    }

    /// Returns the current time on the switch's clock: not before the watermark, and at most a few
    /// seconds after it.
    pub fn now_ns(&self, at: Timestamp) -> u64 {
        let Some(&(_, offset)) = self.offsets.front() else {
            return self.watermark_ns;
        };
        let by_watermarks = offset + i128::from(at.monotonic_ns);
        let now = match self.unix_offset_ns {
            Some(o) => {
                let by_unix = i128::from(at.unix_ms) * 1_000_000 + o;
                // Another machine's clock may be wrong: it is used only if it is close.
                let ahead = by_unix - by_watermarks;
                if (0..3_000_000_000).contains(&ahead) {
                    by_unix
                } else {
                    by_watermarks
                }
            }
            None => by_watermarks,
        };
        u64::try_from(now).unwrap_or(0).max(self.watermark_ns)
    }
}

/// Returns an earlier offset minus the largest drift since then, ns.
fn offset_now(then: Option<(Timestamp, i128)>, at: Timestamp) -> Option<i128> {
    let (then, offset) = then?;
    Some(offset - (at.since_s(then) * DRIFT * 1e9) as i128)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(monotonic_ms: i64, unix_ms: u64) -> Timestamp {
        Timestamp {
            monotonic_ns: monotonic_ms * 1_000_000,
            unix_ms,
        }
    }

    #[test]
    fn the_least_late_watermark_counts() {
        let mut c = SwitchClock::default();
        c.watermark(1_000_000_000, at(100, 0)); // offset 900 ms
        c.watermark(1_050_000_000, at(180, 0)); // later: 870 ms
        assert_eq!(c.now_ns(at(200, 0)), 1_100_000_000);
        // After KEEP_S the old one is forgotten.
        c.watermark(12_000_000_000, at(11_200, 0)); // 800 ms
        assert_eq!(c.now_ns(at(11_200, 0)), 12_000_000_000);
    }

    #[test]
    fn unix_time_is_used_when_plausible() {
        let mut c = SwitchClock::default();
        c.watermark(5_000_000_000, at(0, 0));
        c.mapping(&ClockMapping {
            reference_ns: 1_000_000_000,
            unix_ns_at_reference: 101_000_000_000,
            ..Default::default()
        });
        assert_eq!(c.now_ns(at(0, 105_400)), 5_400_000_000);
        assert_eq!(c.now_ns(at(0, 900_000)), 5_000_000_000);
        assert_eq!(c.now_ns(at(0, 0)), 5_000_000_000);
    }

    #[test]
    fn a_backlog_stays_late_for_as_long_as_it_lasts() {
        let mut c = SwitchClock::default();
        assert_eq!(c.age_s(0, at(0, 0)), None);
        c.watermark(1_000_000_000, at(1_000, 0));
        let age_s = c.age_s(1_000_000_000, at(1_500, 0)).unwrap();
        assert!((0.49..=0.5).contains(&age_s), "{age_s}");
        // From then on 37 s behind.
        for s in 40..=400_i64 {
            c.watermark((s as u64 - 37) * 1_000_000_000, at(s * 1000, 0));
        }
        let age_s = c.age_s(363_000_000_000, at(400_000, 0)).unwrap();
        assert!((36.0..=37.0).contains(&age_s), "{age_s}");
        // It has caught up.
        c.watermark(401_000_000_000, at(401_000, 0));
        let age_s = c.age_s(401_000_000_000, at(401_000, 0)).unwrap();
        assert!(age_s < 0.5, "{age_s}");
    }

    /// The switch restarted while the collector was away, and its clock is past its earlier value:
    /// its reports looked 2 s old from then on.
    #[test]
    fn a_new_collector_tells_the_time_anew() {
        let mut c = SwitchClock::default();
        c.watermark(1_000_000_000, at(1_000, 0));
        c.collector_restarted();
        assert_eq!(c.age_s(1_000_000_000, at(2_000, 0)), None);
        assert_eq!(c.now_ns(at(2_000, 0)), 1_000_000_000);
        // It started at 3.0 s.
        c.watermark(1_500_000_000, at(4_500, 0));
        let age_s = c.age_s(1_500_000_000, at(4_600, 0)).unwrap();
        assert!((0.09..=0.1).contains(&age_s), "{age_s}");
    }

    #[test]
    fn a_clock_that_restarted_between_two_collectors_is_behind() {
        let second = 1_000_000_000;
        let mut c = SwitchClock::default();
        c.watermark(30 * second, at(30_000, 0));
        // From the same collector, a late watermark is only late.
        assert!(!c.restarted_meanwhile(31 * second, at(60_000, 0)));
        c.collector_restarted();
        c.collector_restarted();
        // A collector that was away for a minute, and one that holds back for 9 s.
        assert!(!c.restarted_meanwhile(90 * second, at(90_000, 0)));
        assert!(!c.restarted_meanwhile(81 * second, at(90_000, 0)));
        // The switch started again at 35 s.
        assert!(c.restarted_meanwhile(55 * second, at(90_000, 0)));
        c.watermark(90 * second, at(90_000, 0));
        assert!(!c.restarted_meanwhile(55 * second, at(91_000, 0)));
    }

    /// A clock slower than the host's by 100 ppm is not late after an hour.
    #[test]
    fn drift_is_not_lateness() {
        let mut c = SwitchClock::default();
        for s in 0..7200_i64 {
            c.watermark(s as u64 * 999_900_000, at(s * 1000, 0));
        }
        let age_s = c.age_s(7199 * 999_900_000, at(7_199_000, 0)).unwrap();
        assert!(age_s < 0.1, "{age_s}");
    }

    #[test]
    fn restarted_clock() {
        let mut c = SwitchClock::default();
        c.watermark(5_000_000_000, at(0, 0));
        c.watermark(1_000, at(1_000, 0));
        assert_eq!(c.age_s(1_000, at(1_000, 0)), Some(0.0));
        assert_eq!(c.watermark_ns(), 1_000);
        assert_eq!(c.now_ns(at(1_000, 0)), 1_000);
    }
}
