// SPDX-License-Identifier: Apache-2.0
//! Counts of the records of every interval, from which the sums over any span follow.

use crate::core::phases::Counted;
use std::collections::BTreeMap;
use tidemark_estimators::LinkId;
use tidemark_proto::telemetry::Update;

#[derive(Debug, Default)]
pub(super) struct Counts(BTreeMap<(LinkId, u64), [u32; 5]>);

impl Counts {
    pub(super) fn add(&mut self, update: &Update) {
        for i in &update.link_intervals {
            let reports = i.packets.saturating_add(i.drops);
            let id = LinkId::new(i.node_id, i.port, i.queue);
            self.at(id, i.start_ns, [1, reports, i.reports_lost, 0, 0]);
        }
        for i in &update.flow_intervals {
            let id = LinkId::new(i.node_id, i.port, i.queue);
            self.at(id, i.start_ns, [0, 0, 0, i.joined, i.unjoined]);
        }
    }

    fn at(&mut self, id: LinkId, start_ns: u64, counts: [u32; 5]) {
        let sums = self.0.entry((id, start_ns)).or_default();
        for (sum, count) in sums.iter_mut().zip(counts) {
            *sum = sum.saturating_add(count);
        }
    }

    /// Sums the counts over the intervals that start in `[from_ns, to_ns)`.
    pub(super) fn within(&self, id: LinkId, from_ns: u64, to_ns: u64) -> Counted {
        let mut all = Counted::default();
        for (_, [intervals, reports, lost, joined, unjoined]) in
            self.0.range((id, from_ns)..(id, to_ns.max(from_ns)))
        {
            all.intervals += u64::from(*intervals);
            all.reports += u64::from(*reports);
            all.reports_lost += u64::from(*lost);
            all.joined += u64::from(*joined);
            all.unjoined += u64::from(*unjoined);
        }
        all
    }
}
