// SPDX-License-Identifier: Apache-2.0
//! Narrows a window that was already gathered to its last part.

use super::LinkWindow;

impl LinkWindow<'_> {
    /// Keeps only the part of the window from `from_ns` on. The history of each flow still begins
    /// where the whole window's does; sampling and a measured capacity are also the whole
    /// window's.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::EstimatorConfig;
    use crate::store::Store;
    use crate::types::{LinkId, LinkInfo};
    use proptest::prelude::*;
    use tidemark_proto::telemetry::{Drop, FlowInterval, LinkInterval};

    const LINK: LinkId = LinkId {
        node_id: 1,
        port: 1,
        queue: 0,
    };
    const INTERVAL_NS: u64 = 10_000_000;
    const INTERVALS: u64 = 100;

    /// Two flows, one of which stops early; missing intervals; drops and marks.
    fn store(there: &[bool]) -> Store {
        let mut store = Store::default();
        for i in (0..INTERVALS).filter(|&i| there[i as usize]) {
            let start_ns = i * INTERVAL_NS;
            let link = LinkInterval {
                node_id: 1,
                port: 1,
                start_ns,
                duration_ns: INTERVAL_NS,
                packets: 10,
                ..LinkInterval::default()
            };
            store.push_link_interval(link, usize::MAX);
            for flow_id in [1, 2].into_iter().filter(|f| *f == 1 || i < 40) {
                store.push_flow_interval(FlowInterval {
                    node_id: 1,
                    port: 1,
                    flow_id,
                    start_ns,
                    duration_ns: INTERVAL_NS,
                    packets: 5,
                    ce_marked: u32::from(i % 7 == 0),
                    ..FlowInterval::default()
                });
            }
            let drop = Drop {
                node_id: 1,
                port: 1,
                flow_id: 1,
                time_ns: start_ns + 3,
                ..Drop::default()
            };
            store.push_drop(drop, usize::MAX);
        }
        store
    }

    proptest! {
        /// Equals a window gathered from there, except for what stays the whole window's.
        #[test]
        fn the_last_part_is_as_if_gathered(
            there in prop::collection::vec(prop::bool::weighted(0.9), INTERVALS as usize),
            from in 0..60u64,
            part in 0..30u64,
        ) {
            let store = store(&there);
            let config = EstimatorConfig::default();
            let info = LinkInfo { capacity_bps: 1_000_000, ..LinkInfo::default() };
            let ns = |i: u64| i * INTERVAL_NS + 1;
            let gather = |from| {
                LinkWindow::gather(&store, &config, LINK, Some(&info), from, ns(INTERVALS))
            };
            let mut narrowed = gather(ns(from));
            narrowed.narrow(ns(from + part));
            let gathered = gather(ns(from + part));
            prop_assert_eq!((narrowed.from_ns, narrowed.to_ns), (gathered.from_ns, gathered.to_ns));
            prop_assert_eq!(&narrowed.intervals, &gathered.intervals);
            prop_assert_eq!(&narrowed.drops, &gathered.drops);
            prop_assert_eq!(&narrowed.marks, &gathered.marks);
            prop_assert_eq!(&narrowed.gaps, &gathered.gaps);
            prop_assert_eq!(narrowed.flows.len(), gathered.flows.len());
            for (a, b) in narrowed.flows.iter().zip(&gathered.flows) {
                prop_assert_eq!(a.id, b.id);
                prop_assert_eq!(a.window(), b.window());
            }
        }
    }
}
