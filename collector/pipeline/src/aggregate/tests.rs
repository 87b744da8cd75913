// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::rows::PostcardRow;
use proptest::prelude::*;

const CONFIG: AggregateConfig = AggregateConfig {
    interval_ns: 10,
    reorder_ns: 20,
    publish_ns: 30,
};

fn row(ingress_ns: u64, delay_ns: u64, dropped: bool) -> PostcardRow {
    PostcardRow {
        node_id: 1,
        port: 2,
        flow_id: 3,
        ingress_ns,
        egress_ns: if dropped { 0 } else { ingress_ns + delay_ns },
        dropped,
        ip_bytes: 100,
        ..PostcardRow::default()
    }
}

proptest! {
    /// Whatever the disorder, every packet is counted once on arrival and
    /// once on leaving, and no interval is given twice.
    #[test]
    fn nothing_is_lost_or_doubled(
        packets in prop::collection::vec((0u64..3000, 0u64..200, any::<bool>()), 1..300),
    ) {
        let mut a = Aggregator::new(CONFIG);
        let mut updates: Vec<Update> = packets
            .iter()
            .filter_map(|&(t, d, drop)| a.postcard(&row(t, d, drop)))
            .collect();
        updates.extend(a.finish());
        let links: Vec<_> = updates.iter().flat_map(|u| &u.link_intervals).collect();
        let arrivals: u32 = links.iter().map(|l| l.arrivals).sum();
        let left: u32 = links.iter().map(|l| l.packets).sum();
        let drops: u32 = links.iter().map(|l| l.drops).sum();
        prop_assert_eq!(arrivals as usize, packets.len());
        prop_assert_eq!(left + drops, arrivals);
        prop_assert_eq!(drops as usize, updates.iter().map(|u| u.drops.len()).sum::<usize>());
        let flows: u32 = updates.iter().flat_map(|u| &u.flow_intervals).map(|f| f.packets + f.drops).sum();
        prop_assert_eq!(flows, arrivals);
        for pair in links.windows(2) {
            prop_assert_eq!(pair[0].start_ns + 10, pair[1].start_ns);
        }
    }

    #[test]
    fn any_row_is_survived(rows in prop::collection::vec((any::<u64>(), any::<u64>(), any::<bool>()), 1..50)) {
        let mut a = Aggregator::new(AggregateConfig { interval_ns: 10_000_000, ..CONFIG });
        for (t, e, dropped) in rows {
            a.postcard(&PostcardRow { egress_ns: e, ..row(t, 0, dropped) });
        }
        a.finish();
    }
}
