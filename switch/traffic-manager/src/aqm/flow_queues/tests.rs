// SPDX-License-Identifier: Apache-2.0

use proptest::prelude::*;

use super::*;

const MS: u64 = 1_000_000;

fn seen(now_ns: u64, frame_bytes: u64) -> Seen {
    Seen {
        now_ns,
        frame_bytes,
        markable: false,
        queue_bytes: 0,
        rate_bps: 0,
    }
}

/// Bytes of each of two flows, whose queues never run empty, after this many packets.
fn served(config: FlowQueuesConfig, sizes: [u64; 2], packets: usize) -> [u64; 2] {
    let mut q = FlowQueues::new(config);
    let mut bytes = [0; 2];
    for flow in [0, 1] {
        for _ in 0..packets {
            q.arrive(flow, &seen(0, sizes[flow as usize]));
        }
    }
    for _ in 0..packets {
        let flow = q.next().unwrap();
        let size = sizes[flow as usize];
        assert_eq!(q.leave(flow, &seen(0, size), 0), Verdict::Pass);
        bytes[flow as usize] += size;
    }
    bytes
}

/// Shreedhar and Varghese 1995, theorem 3: the bytes of two backlogged flows differ by less than a
/// quantum and two frames of the largest size.
#[test]
fn backlogged_flows_send_the_same_number_of_bytes() {
    for config in [
        FlowQueuesConfig::fair(1 << 20),
        FlowQueuesConfig::fq_codel(),
    ] {
        for sizes in [[1514, 64], [1514, 1514], [9000, 200]] {
            let [a, b] = served(config, sizes, 3000);
            let most = u64::from(config.quantum_bytes) + 2 * 9000;
            assert!(a.abs_diff(b) < most, "{sizes:?}: {a} and {b}");
        }
    }
}

/// RFC 8290 §4.2: a flow without packets before goes first, but only once; deficit round robin
/// alone has it wait for its turn.
#[test]
fn a_flow_that_begins_is_served_first_by_fq_codel_alone() {
    for (config, first) in [
        (FlowQueuesConfig::fq_codel(), 9),
        (FlowQueuesConfig::fair(1 << 20), 2),
    ] {
        let mut q = FlowQueues::new(config);
        for flow in [1, 2, 3] {
            (0..4).for_each(|_| q.arrive(flow, &seen(0, 1514)));
        }
        // One packet of each: their quanta are used up, and they are old.
        for flow in [1, 2, 3] {
            assert_eq!(q.next(), Some(flow));
            q.leave(flow, &seen(0, 1514), 0);
        }
        assert_eq!(q.next(), Some(1));
        q.leave(1, &seen(0, 1514), 0);
        q.arrive(9, &seen(0, 64));
        q.arrive(9, &seen(0, 1514));
        assert_eq!(q.next(), Some(first));
        q.leave(first, &seen(0, 64), 0);
        // Its second packet is more than its quantum: no longer than one round.
        let order: Vec<u64> = (0..4)
            .map(|_| {
                let flow = q.next().unwrap();
                q.leave(flow, &seen(0, 1514), 0);
                flow
            })
            .collect();
        assert!(order.contains(&2) && order.contains(&3), "{order:?}");
    }
}

/// RFC 8290 §4.1: the flow with the most bytes loses its oldest packet.
#[test]
fn the_flow_with_the_most_bytes_overflows() {
    let mut q = FlowQueues::new(FlowQueuesConfig::fair(5000));
    (0..3).for_each(|_| q.arrive(7, &seen(0, 1000)));
    q.arrive(8, &seen(0, 1500));
    assert_eq!(q.overflows(4500), None);
    q.arrive(8, &seen(0, 600));
    assert_eq!(q.overflows(5100), Some(7));
    q.lose(7, 1000);
    q.lose(7, 1000);
    assert_eq!(q.overflows(5100), Some(8));
    // A tie is decided, by the smaller number.
    q.arrive(3, &seen(0, 2100));
    assert_eq!(q.overflows(5100), Some(3));
}

/// Each flow has the CoDel of its own packets' delay: the one that waits loses, the other not.
#[test]
fn only_the_flow_that_waits_is_dropped() {
    let mut q = FlowQueues::new(FlowQueuesConfig::fq_codel());
    let mut dropped = [0; 2];
    for i in 0..2000u64 {
        let now = i * MS;
        for flow in [0, 1] {
            (0..2).for_each(|_| q.arrive(flow, &seen(now, 1000)));
            let sojourn_ns = [20, 1][flow as usize] * MS;
            let verdict = q.leave(flow, &seen(now, 1000), sojourn_ns);
            dropped[flow as usize] += u32::from(verdict == Verdict::Drop);
        }
    }
    assert!(dropped[0] > 50 && dropped[1] == 0, "{dropped:?}");
}

#[test]
fn flows_that_ended_are_forgotten_at_last() {
    let mut q = FlowQueues::new(FlowQueuesConfig::fq_codel());
    for flow in 0..20_000 {
        q.arrive(flow, &seen(0, 100));
        while let Some(next) = q.next() {
            q.leave(next, &seen(0, 100), 0);
        }
        assert!(q.flows.len() <= MOST_IDLE + 2);
    }
    assert!(q.flows.len() > MOST_IDLE / 2);
}

proptest! {
    /// Each packet leaves exactly once, in the order of its flow.
    #[test]
    fn every_packet_is_served(
        arrivals in prop::collection::vec((0..6u64, 64..9000u64), 1..200),
        is_fair in any::<bool>(),
    ) {
        let config = if is_fair { FlowQueuesConfig::fair(1) } else { FlowQueuesConfig::fq_codel() };
        let mut q = FlowQueues::new(config);
        let mut waiting: VecDeque<(u64, u64)> = VecDeque::new();
        for (n, (flow, bytes)) in arrivals.iter().enumerate() {
            q.arrive(*flow, &seen(0, *bytes));
            waiting.push_back((*flow, *bytes));
            if n % 3 == 0 {
                serve(&mut q, &mut waiting)?;
            }
        }
        while !waiting.is_empty() {
            serve(&mut q, &mut waiting)?;
        }
        prop_assert_eq!(q.next(), None);
        prop_assert!(q.flows.values().all(|f| (f.packets, f.bytes, f.listed) == (0, 0, false)));
    }
}

fn serve(q: &mut FlowQueues, waiting: &mut VecDeque<(u64, u64)>) -> Result<(), TestCaseError> {
    let flow = q.next();
    let at = waiting.iter().position(|(f, _)| Some(*f) == flow);
    prop_assert!(at.is_some(), "{flow:?} has no packet");
    if let Some((flow, bytes)) = at.and_then(|at| waiting.remove(at)) {
        q.leave(flow, &seen(0, bytes), 0);
    }
    Ok(())
}
