// SPDX-License-Identifier: Apache-2.0
//! Times when nothing was heard of a switch. The collector still makes records of its ports,
//! without packets, which look like those of an idle link. A report of any other port shows that a
//! link is only idle.

use std::collections::VecDeque;
use tidemark_proto::telemetry::LinkInterval;

/// A switch that reports no packet for this long is silent; the collector uses the same threshold.
const SILENT_NS: u64 = 500_000_000;
/// Maximum number of silences kept per switch.
const MOST: usize = 10_000;

/// Times when a switch was silent, by its clock.
#[derive(Clone, Debug, Default)]
pub struct Silence {
    /// End of the last record with a packet, of any port; 0 before the first.
    heard_ns: u64,
    over: VecDeque<(u64, u64)>,
}

impl Silence {
    /// Processes a record with a packet. Records come in the order of their start.
    pub(super) fn heard(&mut self, i: &LinkInterval) {
        if self.heard_ns > 0 && i.start_ns >= self.heard_ns.saturating_add(SILENT_NS) {
            self.over.push_back((self.heard_ns, i.start_ns));
            if self.over.len() > MOST {
                self.over.pop_front();
            }
        }
        let end_ns = i.start_ns.saturating_add(i.duration_ns);
        self.heard_ns = self.heard_ns.max(end_ns);
    }

    /// Returns until when it is known whether the switch was silent, given that its records are
    /// complete until `complete_ns`.
    pub fn known_ns(&self, complete_ns: u64) -> u64 {
        match self.lasts(complete_ns) {
            true => u64::MAX,
            false => self.heard_ns,
        }
    }

    fn lasts(&self, complete_ns: u64) -> bool {
        complete_ns.saturating_sub(self.heard_ns) >= SILENT_NS
    }

    /// Returns how much of `[from_ns, to_ns)` the switch was silent, ns.
    pub fn within_ns(&self, from_ns: u64, to_ns: u64, complete_ns: u64) -> u64 {
        let first = self.over.partition_point(|s| s.1 <= from_ns);
        let over = self.over.range(first..).copied();
        let now = self.lasts(complete_ns).then_some((self.heard_ns, u64::MAX));
        over.chain(now)
            .take_while(|s| s.0 < to_ns)
            .map(|(a, b)| b.min(to_ns).saturating_sub(a.max(from_ns)))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn heard(s: &mut Silence, ms: u64) {
        s.heard(&LinkInterval {
            start_ns: ms * MS,
            duration_ns: 10 * MS,
            ..LinkInterval::default()
        });
    }

    #[test]
    fn a_switch_is_silent_between_reports_that_are_far_apart_and_after_the_last() {
        let mut s = Silence::default();
        for ms in [1_000, 1_010, 1_400, 1_910, 5_000] {
            heard(&mut s, ms);
        }
        let within = |from, to, complete| s.within_ns(from * MS, to * MS, complete * MS) / MS;
        assert_eq!(within(0, 1_410, 5_100), 0, "as long as it is usual");
        assert_eq!(within(1_000, 2_000, 5_100), 500 + 80);
        assert_eq!(within(3_000, 3_010, 5_100), 10);
        assert_eq!(within(5_000, 9_000, 5_500), 0, "it is not known yet");
        assert_eq!(s.known_ns(5_500 * MS), 5_010 * MS);
        assert_eq!(within(5_000, 9_000, 9_000), 3_990);
        assert_eq!(s.known_ns(9_000 * MS), u64::MAX);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut s = Silence::default();
        for n in 0..2 * MOST as u64 {
            heard(&mut s, 1_000 * (n + 1));
        }
        assert_eq!(s.over.len(), MOST);
    }
}
