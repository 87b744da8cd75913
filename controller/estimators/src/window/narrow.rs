// SPDX-License-Identifier: Apache-2.0
//! The last part of a window that is there already.

use super::LinkWindow;

impl LinkWindow<'_> {
    /// Leaves of the window what lies in it from `from_ns` on, and its history as it is: that
    /// of each flow begins where that of the whole window does. Sampling and a measured
    /// capacity stay those of the whole.
    pub fn narrow(&mut self, from_ns: u64) {
        let first = self.intervals.partition_point(|r| r.start_ns < from_ns);
        self.intervals.drain(..first);
        self.from_ns = self
            .intervals
            .first()
            .map_or(from_ns, |r| r.start_ns)
            .max(self.from_ns);
        let from_ns = self.from_ns;
        self.drops.retain(|d| d.time_ns >= from_ns);
        self.marks.retain(|s| s.time_ns >= from_ns);
        self.gaps.retain(|g| g.end > from_ns);
        for gap in &mut self.gaps {
            gap.start = gap.start.max(from_ns);
        }
        self.flows.retain_mut(|flow| {
            flow.window_at = flow.history.partition_point(|r| r.start_ns < from_ns);
            flow.window_at < flow.history.len()
        });
    }
}
