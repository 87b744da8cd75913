// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::rows::PostcardRow;
use proptest::prelude::*;
use std::collections::HashMap;
use tidemark_proto::departures::{self, TENTHS};
use tidemark_proto::telemetry::{Drop, FlowInterval, LinkInterval};

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
    /// In any order of rows, every packet is counted once on arrival and once on departure, and no
    /// interval is given twice.
    #[test]
    fn nothing_is_lost_or_doubled(
        packets in prop::collection::vec((0u64..3000, 0u64..200, any::<bool>()), 1..300),
    ) {
        let mut a = Aggregator::new(CONFIG);
        let mut updates = Vec::new();
        let mut hand_on = |update| updates.push(update);
        for &(t, d, drop) in &packets {
            a.postcard(&row(t, d, drop), &mut hand_on);
        }
        a.finish(&mut hand_on);
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

    /// Flows with different sampling shifts on a port, as watch entries set them, in any order.
    #[test]
    fn each_packet_counts_for_what_it_stands_for(
        shifts in prop::collection::vec(0u8..12, 3),
        packets in prop::collection::vec((0usize..3, 0u64..3000, 0u64..200, any::<bool>()), 1..300),
    ) {
        let mut a = Aggregator::new(CONFIG);
        let mut updates = Vec::new();
        let mut hand_on = |update| updates.push(update);
        let (mut left, mut drops) = (0u64, 0u64);
        for &(flow, t, delay_ns, dropped) in &packets {
            let sampling_shift = shifts[flow];
            let r = PostcardRow { sampling_shift, flow_id: 1 + flow as u64, ..row(t, delay_ns, dropped) };
            a.postcard(&r, &mut hand_on);
            drops += u64::from(dropped);
            left += if dropped { 0 } else { 1 << sampling_shift };
        }
        a.finish(&mut hand_on);
        let links = || updates.iter().flat_map(|u| &u.link_intervals);
        let sum = |of: fn(&LinkInterval) -> u64| links().map(of).sum::<u64>();
        prop_assert_eq!(sum(|l| u64::from(l.packets) << l.sampling_shift), left);
        prop_assert_eq!(sum(|l| l.ip_bytes << l.sampling_shift), 100 * left);
        prop_assert_eq!(sum(|l| u64::from(l.arrivals - l.drops) << l.sampling_shift), left);
        prop_assert_eq!(sum(|l| (l.arrival_ip_bytes - l.drop_ip_bytes) << l.sampling_shift), 100 * left);
        prop_assert_eq!(sum(|l| u64::from(l.drops)), drops);
        prop_assert_eq!(sum(|l| u64::from(l.reported_packets)), packets.len() as u64 - drops);
        for f in updates.iter().flat_map(|u| &u.flow_intervals).filter(|f| f.packets > 0) {
            prop_assert_eq!(f.stands_for, 1 << shifts[f.flow_id as usize - 1]);
        }
        let largest = links().filter(|l| l.packets > 0).map(|l| l.most_sampling_shift).max();
        let of_packets = packets.iter().filter(|p| !p.3).map(|p| u32::from(shifts[p.0])).max();
        prop_assert!(largest >= of_packets);
    }

    #[test]
    fn any_row_is_survived(rows in prop::collection::vec((any::<u64>(), any::<u64>(), any::<bool>()), 1..50)) {
        let mut a = Aggregator::new(AggregateConfig { interval_ns: 10_000_000, ..CONFIG });
        for (t, e, dropped) in rows {
            a.postcard(&PostcardRow { egress_ns: e, ..row(t, 0, dropped) }, &mut drop);
        }
        a.finish(&mut drop);
    }

    /// Compares with counting into maps, while nothing is closed before the end.
    #[test]
    fn agrees_with_plain_counting(
        packets in prop::collection::vec((0u64..400, 0u64..60, prop::bool::weighted(0.1), 0u32..3, 0u64..4, -1i32..3), 1..300),
    ) {
        let mut a = Aggregator::new(AggregateConfig { reorder_ns: 1_000_000, ..CONFIG });
        let mut plain = Plain::default();
        for (n, &(t, d, dropped, port, flow_id, lost_before)) in packets.iter().enumerate() {
            let r = PostcardRow {
                port,
                flow_id,
                lost_before,
                occupancy_bytes: n as u64 % 7 * 100,
                payload_bytes: 60,
                wire_overhead_bytes: 38,
                retransmitted: n % 5 == 0,
                ce_marked: n % 6 == 0,
                ..row(t, d, dropped)
            };
            a.postcard(&r, &mut |update| panic!("closed: {update:?}"));
            plain.count(&r);
        }
        let mut updates = Vec::new();
        a.finish(&mut |update| updates.push(update));
        let [update] = &updates[..] else { panic!("{} updates", updates.len()) };
        for l in &update.link_intervals {
            let expected = plain.links.remove(&(l.start_ns / 10, l.port)).unwrap_or_default();
            let found = LinkSums {
                arrivals: l.arrivals,
                packets: l.packets,
                drops: l.drops,
                met_empty: l.met_empty,
                ce_marked: l.ce_marked,
                wire_bytes: l.wire_bytes,
                occupancy_sum: l.occupancy_sum_bytes,
                delay_sum: l.delay_sum_ns,
                delay_max: l.delay_max_ns,
                lost: i64::from(l.reports_lost),
                occupancies: l.occupancy_bytes.as_ref().map_or(0, |h| h.count.iter().sum()),
                delays: l.delay_ns.as_ref().map_or(0, |h| h.count.iter().sum()),
            };
            prop_assert_eq!(found, LinkSums { lost: expected.lost.max(0), ..expected });
        }
        prop_assert!(plain.links.is_empty());
        for f in &update.flow_intervals {
            let found = [f.packets, f.drops, f.retransmitted_packets, f.ce_marked, f.payload_bytes as u32];
            let key = (f.start_ns / 10, f.flow_id, f.port);
            let (expected, departures) = plain.flows.remove(&key).unwrap_or_default();
            prop_assert_eq!(expected, found);
            prop_assert_eq!(departures::unpack(f.departures), departures);
        }
        prop_assert!(plain.flows.is_empty());
    }

    /// Two queues of a port never mix: however their packets and samples interleave, even in the
    /// same flows, each queue has the records that it has alone.
    #[test]
    fn each_queue_has_the_records_it_has_alone(
        packets in prop::collection::vec(
            (0u64..900, 0u64..15, prop::bool::weighted(0.1), any::<bool>(), 0u64..4, any::<bool>()),
            1..300,
        ),
        queues in prop::array::uniform2(any::<u8>()),
    ) {
        prop_assume!(queues[0] != queues[1]);
        let mut rows: Vec<(PostcardRow, bool)> = packets
            .iter()
            .enumerate()
            .map(|(n, &(t, d, dropped, second, flow_id, sampled))| (PostcardRow {
                queue: queues[usize::from(second)],
                flow_id,
                occupancy_bytes: n as u64 % 7 * 100,
                limit_bytes: n as u64 % 3,
                payload_bytes: 60,
                retransmitted: n % 5 == 0,
                feedback_rtt_us: n as u32 % 3,
                ..row(t, d, dropped)
            }, sampled))
            .collect();
        rows.sort_by_key(|(r, _)| r.time_ns());
        let both = of_rows(rows.iter());
        for queue in queues {
            let alone = of_rows(rows.iter().filter(|(r, _)| r.queue == queue));
            prop_assert_eq!(of_queue(&both, queue), of_queue(&alone, queue));
        }
        let of_one = |q: u32| queues.map(u32::from).contains(&q);
        prop_assert!(both.iter().flat_map(|u| &u.link_intervals).all(|l| of_one(l.queue)));
        prop_assert!(both.iter().flat_map(|u| &u.flow_intervals).all(|f| of_one(f.queue)));
    }
}

fn of_rows<'a>(rows: impl Iterator<Item = &'a (PostcardRow, bool)>) -> Vec<Update> {
    let mut a = Aggregator::new(CONFIG);
    let mut updates = Vec::new();
    for (row, sampled) in rows {
        a.postcard(row, &mut |u| updates.push(u));
        if *sampled {
            a.probe(&ProbeRow {
                node_id: row.node_id,
                port: row.port,
                queue: row.queue,
                flow_id: row.flow_id,
                time_ns: row.time_ns(),
                cwnd: row.ingress_ns as u32,
                ..ProbeRow::default()
            });
        }
    }
    a.finish(&mut |u| updates.push(u));
    updates
}

/// Records of a queue's intervals with packets, its flows and drops. A queue alone may begin later.
fn of_queue(updates: &[Update], queue: u8) -> (Vec<LinkInterval>, Vec<FlowInterval>, Vec<Drop>) {
    let queue = u32::from(queue);
    let links = updates.iter().flat_map(|u| &u.link_intervals);
    let busy = links.filter(|l| l.queue == queue && l.arrivals + l.packets > 0);
    let begun = |l: &LinkInterval| LinkInterval {
        first_start_ns: 0,
        ..l.clone()
    };
    let flows = updates.iter().flat_map(|u| &u.flow_intervals);
    let drops = updates.iter().flat_map(|u| &u.drops);
    (
        busy.map(begun).collect(),
        flows.filter(|f| f.queue == queue).copied().collect(),
        drops.filter(|d| d.queue == queue).copied().collect(),
    )
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct LinkSums {
    arrivals: u32,
    packets: u32,
    drops: u32,
    met_empty: u32,
    ce_marked: u32,
    wire_bytes: u64,
    occupancy_sum: u64,
    delay_sum: u64,
    delay_max: u64,
    lost: i64,
    occupancies: u32,
    delays: u32,
}

/// Sums by interval and port, and by interval, flow and port.
#[derive(Default)]
struct Plain {
    links: HashMap<(u64, u32), LinkSums>,
    flows: HashMap<(u64, u64, u32), FlowSums>,
}

/// Sums, and departures by tenths.
type FlowSums = ([u32; 5], [u32; TENTHS]);

impl Plain {
    fn count(&mut self, r: &PostcardRow) {
        let came = self.links.entry((r.ingress_ns / 10, r.port)).or_default();
        came.arrivals += 1;
        came.drops += u32::from(r.dropped);
        came.met_empty += u32::from(r.occupancy_bytes == 0);
        came.occupancy_sum += r.occupancy_bytes;
        came.occupancies += 1;
        let end = r.time_ns() / 10;
        let left = self.links.entry((end, r.port)).or_default();
        left.lost += i64::from(r.lost_before);
        let (flow, departures) = self.flows.entry((end, r.flow_id, r.port)).or_default();
        if r.dropped {
            flow[1] += 1;
        } else {
            let delay = r.egress_ns - r.ingress_ns;
            left.packets += 1;
            left.ce_marked += u32::from(r.ce_marked);
            left.wire_bytes += u64::from(r.ip_bytes + r.wire_overhead_bytes);
            left.delay_sum += delay;
            left.delay_max = left.delay_max.max(delay);
            left.delays += 1;
            flow[0] += 1;
            flow[4] += r.payload_bytes;
            departures[(r.egress_ns % 10) as usize] += 1;
        }
        flow[2] += u32::from(r.retransmitted);
        flow[3] += u32::from(r.ce_marked);
    }
}

/// One packet in 8 is reported and one in 5 marked, by an exporter that reports all marks and by
/// one that does not.
#[test]
fn marks_out_of_the_sample_count_as_marks_alone() {
    for reports_all_marks in [true, false] {
        let mut a = Aggregator::new(CONFIG);
        let mut updates = Vec::new();
        for n in 1..=800 {
            let (drawn, ce_marked) = (n % 8 == 0, n % 5 == 0);
            if drawn || reports_all_marks && ce_marked {
                let r = PostcardRow {
                    sampling_shift: 3,
                    occupancy_bytes: 100,
                    ce_marked,
                    out_of_sample: !drawn,
                    ..row(n, 5, false)
                };
                a.postcard(&r, &mut |update| updates.push(update));
            }
        }
        a.finish(&mut |update| updates.push(update));
        let links = || updates.iter().flat_map(|u| &u.link_intervals);
        let sum = |of: fn(&LinkInterval) -> u32| links().map(of).sum::<u32>();
        assert_eq!(sum(|l| l.ce_marked), 160);
        assert_eq!(sum(|l| l.arrivals), 100);
        assert_eq!(sum(|l| l.packets), 100);
        let outside = if reports_all_marks { 140 } else { 0 };
        assert_eq!(sum(|l| l.out_of_sample), outside);
        assert_eq!(
            sum(|l| l
                .occupancy_bytes
                .as_ref()
                .map_or(0, |h| h.count.iter().sum())),
            100
        );
        assert_eq!(links().map(|l| l.wire_bytes).sum::<u64>(), 100 * 100);
        let flows = || updates.iter().flat_map(|u| &u.flow_intervals);
        assert_eq!(flows().map(|f| f.packets).sum::<u32>(), 100);
        assert_eq!(flows().map(|f| f.ce_marked).sum::<u32>(), 20 + outside);
    }
}

/// However much is closed at once, each update stays small, nothing is missing,
/// and the watermark comes last.
#[test]
fn updates_are_bounded() {
    const FLOWS: u64 = 10_000;
    let mut a = Aggregator::new(CONFIG);
    let mut updates = Vec::new();
    for n in 0..3 * FLOWS {
        let packet = PostcardRow {
            flow_id: 1 + n % FLOWS,
            ..row(n / FLOWS * 10, 1, n < FLOWS / 2)
        };
        a.postcard(&packet, &mut |update| updates.push(update));
    }
    assert!(updates.is_empty());
    a.finish(&mut |update| updates.push(update));
    let sizes: Vec<usize> = updates.iter().map(|u| u.flow_intervals.len()).collect();
    assert!(sizes.iter().all(|&n| n <= 4096), "{sizes:?}");
    assert_eq!(sizes.iter().sum::<usize>() as u64, 3 * FLOWS);
    let drops: usize = updates.iter().map(|u| u.drops.len()).sum();
    assert_eq!(drops as u64, FLOWS / 2);
    let (last, before) = updates.split_last().unwrap();
    assert!(before.iter().all(|u| u.watermarks.is_empty()));
    assert_eq!(last.watermarks.len(), 1);
}

/// Runs an aggregator that hands nothing on in time, and whose open intervals may take 2 MiB.
fn crowded(rows: impl Iterator<Item = PostcardRow>) -> (OutOfWindow, Vec<Update>) {
    let mut a = Aggregator::new(AggregateConfig {
        reorder_ns: 1_000_000,
        ..CONFIG
    });
    let mut updates = Vec::new();
    for row in rows {
        a.node(row.node_id).max_open_bytes = 2 << 20;
        a.postcard(&row, &mut |u| updates.push(u));
    }
    a.finish(&mut |u| updates.push(u));
    (a.out_of_window(), updates)
}

fn flow_packets(updates: &[Update]) -> u32 {
    let records = updates.iter().flat_map(|u| &u.flow_intervals);
    records.map(|f| f.packets + f.drops).sum()
}

#[test]
fn the_oldest_intervals_are_handed_on_when_all_take_too_much_memory() {
    const ROWS: u64 = 300_000;
    let flow = |n: u64| PostcardRow {
        flow_id: n,
        ..row(n * 7 % 5_000, 1, false)
    };
    let (outside, updates) = crowded((0..ROWS).map(flow));
    assert!((250..2_000).contains(&outside.forced), "{outside:?}");
    assert!(updates.len() > 2, "all at the end");
    assert_eq!(flow_packets(&updates), ROWS as u32);
    let starts: Vec<u64> = updates
        .iter()
        .flat_map(|u| &u.link_intervals)
        .map(|l| l.start_ns)
        .collect();
    assert!(starts.windows(2).all(|w| w[0] + 10 == w[1]));
}

/// Times that do not advance end no interval.
#[test]
fn one_interval_does_not_take_all_memory() {
    const ROWS: u64 = 300_000;
    let flow = |n: u64| PostcardRow {
        flow_id: n,
        ..row(3, 1, false)
    };
    let (outside, updates) = crowded((0..ROWS).map(flow));
    assert!((3..6).contains(&outside.forced), "{outside:?}");
    assert!(outside.late > 0);
    assert_eq!(flow_packets(&updates), ROWS as u32);
}
