// SPDX-License-Identifier: Apache-2.0
//! Time of a feed: now on a switch's clock, how far the records are complete, and how old
//! the newest are.

use super::{Feed, SwitchClock};
use tidemark_control::Timestamp;
use tidemark_estimators::LinkId;

impl Feed {
    /// Returns the current time on the clock of a link's node, as well as the telemetry tells.
    pub fn now_ns(&self, link: LinkId, now: Timestamp) -> u64 {
        self.clocks
            .get(&link.node_id)
            .map(|c| c.now_ns(now))
            .filter(|&now_ns| now_ns > 0)
            .unwrap_or_else(|| self.series.get(&link).map_or(0, |s| s.last_ns))
    }

    /// Returns the length of an interval record, ns.
    pub fn interval_ns(&self) -> u64 {
        u64::from(self.info.interval_ms.max(1)) * 1_000_000
    }

    /// Returns the end of the complete records of a link, rounded down to whole intervals; 0 if
    /// there are none.
    pub fn complete_ns(&self, link: LinkId) -> u64 {
        let watermark = self
            .clocks
            .get(&link.node_id)
            .map(SwitchClock::watermark_ns);
        let end = match watermark {
            Some(w) if w > 0 => w,
            _ => self.series.get(&link).map_or(0, |s| s.last_ns),
        };
        end - end % self.interval_ns()
    }

    /// Returns how long the switch of a link was silent between two times, ns.
    pub fn silent_ns(&self, link: LinkId, from_ns: u64, to_ns: u64) -> u64 {
        let complete_ns = self.complete_ns(link);
        let silence = self.silences.get(&link.node_id);
        silence.map_or(0, |s| s.within_ns(from_ns, to_ns, complete_ns))
    }

    /// Returns until when it is known whether records without a packet come from an idle link or
    /// from a silent switch.
    pub fn known_ns(&self, link: LinkId) -> u64 {
        let silence = self.silences.get(&link.node_id);
        silence.map_or(u64::MAX, |s| s.known_ns(self.complete_ns(link)))
    }

    /// Age of the newest report of a link, s; `None` before the first. By the switch's clock, if it
    /// is known, so that late reports count as old; at least the time since the report arrived.
    pub fn report_age_s(&self, link: LinkId, at: Timestamp) -> Option<f64> {
        let series = self.series.get(&link)?;
        let since_heard_s = at.since_s(series.heard?);
        let clock = self.clocks.get(&link.node_id);
        let by_clock_s = clock.and_then(|c| c.age_s(series.reported_ns, at));
        Some(by_clock_s.map_or(since_heard_s, |s| s.max(since_heard_s)))
    }

    /// Age of the newest report of any link of a node, s.
    pub fn node_age_s(&self, node: u32, at: Timestamp) -> Option<f64> {
        let first = LinkId::new(node, 0, 0);
        let last = LinkId::new(node, u32::MAX, u32::MAX);
        let of_node = self.series.range(first..=last);
        let ages = of_node.filter_map(|(&id, _)| self.report_age_s(id, at));
        ages.reduce(f64::min)
    }

    /// How far the records of a node lag behind its clock, s.
    pub fn lag_s(&self, node: u32, at: Timestamp) -> Option<f64> {
        let clock = self.clocks.get(&node)?;
        clock.age_s(clock.watermark_ns(), at)
    }

    /// Seconds since the last update; `None` before the first.
    pub fn age_s(&self, at: Timestamp) -> Option<f64> {
        let last = self.last_update?;
        Some(at.since_s(last))
    }
}
