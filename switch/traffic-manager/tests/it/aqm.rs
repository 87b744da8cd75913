// SPDX-License-Identifier: Apache-2.0
//! Queue management of a port, as senders experience it.
#![allow(clippy::unwrap_used)]

use crate::common::senders::{FRAME, bottleneck, run};
use crate::common::{Out, echo};
use proptest::prelude::*;
use traffic_manager::{
    AqmConfig, CoDelConfig, FlowQueuesConfig, PieConfig, PortConfig, RedConfig, Switch,
};

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

fn codel() -> AqmConfig {
    AqmConfig::CoDel(CoDelConfig::default())
}

fn pie() -> AqmConfig {
    AqmConfig::Pie(PieConfig::default())
}

fn red() -> AqmConfig {
    AqmConfig::Red(RedConfig::from_threshold(5 * FRAME as u64))
}

/// The FIFO holds 50 ms and more; with the same senders, packets wait for CoDel's target.
/// More senders on the same line need more drops per second, and wait longer.
#[test]
fn codel_takes_a_standing_queue_down_to_its_target() {
    for (flows, most_ms) in [(2, 6.0), (8, 15.0)] {
        let fifo = run(&mut bottleneck(120, None), flows, 60 * SECOND);
        assert!(fifo.quantile_ms(0.1) > 50.0, "{}", fifo.quantile_ms(0.1));
        let mut s = bottleneck(120, Some(codel()));
        let seen = run(&mut s, flows, 60 * SECOND);
        let median = seen.quantile_ms(0.5);
        assert!((4.0..most_ms).contains(&median), "{flows} flows: {median}");
        assert!(seen.utilisation > 0.95, "{}", seen.utilisation);
        assert!(s.port_mut(1).aqm_counts().unwrap().dropped_packets > 100);
    }
}

#[test]
fn pie_keeps_the_delay_at_its_target() {
    for flows in [1, 2, 8] {
        let seen = run(&mut bottleneck(120, Some(pie())), flows, 60 * SECOND);
        let mean = seen.mean_ms();
        assert!((13.0..17.0).contains(&mean), "{flows} flows: {mean}");
        assert!(seen.utilisation > 0.95, "{}", seen.utilisation);
    }
}

#[test]
fn red_keeps_the_mean_queue_between_its_thresholds() {
    let config = RedConfig {
        max_probability: 0.1,
        ..RedConfig::from_threshold(5 * FRAME as u64)
    };
    let mut s = bottleneck(120, Some(AqmConfig::Red(config)));
    let seen = run(&mut s, 8, 60 * SECOND);
    // 5 to 15 packets of 1 ms each.
    let mean = seen.mean_ms();
    assert!((5.0..15.0).contains(&mean), "{mean}");
    assert!(seen.utilisation > 0.9, "{}", seen.utilisation);
}

fn fq_codel() -> AqmConfig {
    AqmConfig::FlowQueues(FlowQueuesConfig::fq_codel())
}

/// A frame of UDP from a port.
fn udp(port: u16, bytes: usize) -> Vec<u8> {
    let mut frame = vec![0; bytes];
    frame[12..14].copy_from_slice(&0x0800u16.to_be_bytes());
    (frame[14], frame[23]) = (0x45, 17);
    frame[34..36].copy_from_slice(&port.to_be_bytes());
    frame
}

/// Ports and sizes of the frames that leave within 10 s, when these arrive at once.
fn sent(aqm: AqmConfig, frames: &[(u16, usize)]) -> (Vec<(u16, usize)>, Switch) {
    let mut s = bottleneck(0, Some(aqm));
    let mut out = Out::default();
    for (port, bytes) in frames {
        s.receive(0, &udp(*port, *bytes), 0);
    }
    s.run_until(10 * SECOND, &mut out);
    let port = |f: &[u8]| u16::from_be_bytes([f[34], f[35]]);
    let order = out.0.iter().map(|(_, f, _)| (port(f), f.len()));
    (order.collect(), s)
}

#[test]
fn flows_take_turns() {
    let all: Vec<(u16, usize)> = [1, 1, 1, 1, 2, 2, 2, 3].map(|port| (port, 1514)).to_vec();
    let fair = AqmConfig::FlowQueues(FlowQueuesConfig::fair(1_000_000));
    let (order, _) = sent(fair, &all);
    let ports: Vec<u16> = order.iter().map(|(port, _)| *port).collect();
    assert_eq!(ports, [1, 2, 3, 1, 2, 1, 2, 1]);
}

/// A flow fills the queue: the packets of another find room, as the first flow's oldest go.
#[test]
fn the_longest_flow_makes_room() {
    let mut all = vec![(1, 1000); 30];
    all.extend([(2, 1000); 5]);
    let fair = AqmConfig::FlowQueues(FlowQueuesConfig::fair(20_000));
    let (order, mut s) = sent(fair, &all);
    let of = |port| order.iter().filter(|(p, _)| *p == port).count();
    assert_eq!((of(1), of(2)), (15, 5));
    let p = s.port_mut(1);
    let counts = p.aqm_counts().unwrap();
    assert_eq!((counts.dropped_packets, counts.dropped_bytes), (15, 15_000));
    assert_eq!((p.queue_bytes, p.queue_packets()), (0, 0));
}

/// As CoDel, but a flow that sends little does not wait behind the others.
#[test]
fn fq_codel_takes_a_standing_queue_down_as_well() {
    let seen = run(&mut bottleneck(0, Some(fq_codel())), 2, 60 * SECOND);
    let median = seen.quantile_ms(0.5);
    assert!((4.0..6.0).contains(&median), "{median}");
    let mut s = bottleneck(0, Some(fq_codel()));
    let mut out = Out::default();
    for i in 0..2000u64 {
        s.run_until(i * MS, &mut out);
        (0..2).for_each(|_| s.receive(0, &udp(1, FRAME), i * MS));
        if i % 10 == 0 {
            s.receive(0, &udp(2, 100), i * MS);
        }
    }
    s.run_until(2000 * MS, &mut out);
    let little: Vec<u64> = (out.0.iter())
        .filter(|(_, f, _)| f.len() == 100)
        .map(|(_, _, t)| t % (10 * MS))
        .collect();
    // It waits for the packet on the wire and for its own time.
    assert!(little.len() > 190, "{}", little.len());
    assert!(little.iter().all(|wait| *wait <= 3 * MS), "{little:?}");
}

/// One sender that does not fill the line.
#[test]
fn nothing_is_dropped_without_a_queue() {
    for aqm in [red(), codel(), pie(), fq_codel()] {
        let mut s = bottleneck(0, Some(aqm));
        let mut out = Out::default();
        for i in 0..5_000 {
            s.run_until(i * 1_100_000, &mut out);
            s.receive(0, &[0; FRAME], i * 1_100_000);
        }
        s.run_until(10 * SECOND, &mut out);
        assert_eq!(out.0.len(), 5_000, "{aqm:?}");
    }
}

#[test]
fn the_same_packets_have_the_same_fate() {
    for aqm in [red(), pie()] {
        let once = || {
            let mut s = bottleneck(100, Some(aqm));
            let seen = run(&mut s, 5, 10 * SECOND);
            (seen.sent, seen.waits_ns, s.port_mut(1).aqm_counts())
        };
        assert_eq!(once(), once());
    }
}

/// The queue's own depth refuses packets that the algorithm lets in.
#[test]
fn the_depth_stays_in_force() {
    let mut s = bottleneck(10, Some(codel()));
    for _ in 0..100 {
        s.receive(0, &[0; FRAME], 0);
    }
    let p = s.port_mut(1);
    assert_eq!((p.queue_packets(), p.tail_dropped_packets), (10, 90));
    assert_eq!(p.aqm_counts().unwrap().dropped_packets, 0);
}

#[test]
fn a_queue_that_is_not_there_is_refused() {
    let mut s = echo();
    let said = s.set_aqm(3, 1, codel()).unwrap_err();
    assert!(said.contains("port 3 has 1 queues"), "{said}");
    s.set_priority_queues(2);
    s.set_aqm(3, 1, codel()).unwrap();
    assert!(s.port_mut(3).aqm_counts().is_some());
    s.set_priority_queues(1);
    assert!(s.port_mut(3).aqm_counts().is_none());
    let bad = CoDelConfig {
        target_ns: 0,
        ..CoDelConfig::default()
    };
    assert!(s.set_aqm(3, 0, AqmConfig::CoDel(bad)).is_err());
}

/// Queue management set while packets wait: their waiting time counts from then on.
#[test]
fn packets_that_wait_already_are_managed_too() {
    let mut s = bottleneck(0, None);
    for _ in 0..1000 {
        s.receive(0, &[0; FRAME], 0);
    }
    let mut out = Out::default();
    s.run_until(50 * MS, &mut out);
    s.set_aqm(1, 0, codel()).unwrap();
    s.run_until(10 * SECOND, &mut out);
    let dropped = s.port_mut(1).aqm_counts().unwrap();
    assert_eq!(out.0.len() as u64 + dropped.dropped_packets, 1000);
    assert_eq!(
        dropped.dropped_bytes,
        dropped.dropped_packets * FRAME as u64
    );
    assert!(dropped.dropped_packets > 10, "{dropped:?}");
}

fn any_aqm() -> impl Strategy<Value = AqmConfig> {
    let codel = (1..20u64, 21..200u64).prop_map(|(target, interval)| {
        AqmConfig::CoDel(CoDelConfig {
            target_ns: target * MS,
            interval_ns: interval * MS,
            ecn: true,
        })
    });
    let red = (1..50_000u64, 0.001f64..1.0, 0.001f64..1.0, any::<bool>());
    let red = red.prop_map(|(min, max_probability, weight, gentle)| {
        AqmConfig::Red(RedConfig {
            max_probability,
            weight,
            gentle,
            ecn: true,
            ..RedConfig::from_threshold(min)
        })
    });
    let pie = (1..50u64, 1..50u64, 0..200u64).prop_map(|(target, update, burst)| {
        AqmConfig::Pie(PieConfig {
            target_ns: target * MS,
            update_interval_ns: update * MS,
            max_burst_ns: burst * MS,
            ..PieConfig::default()
        })
    });
    let flow_queues =
        (1..3000u32, 1..60_000u64, any::<bool>()).prop_map(|(quantum, limit, is_fq)| {
            AqmConfig::FlowQueues(FlowQueuesConfig {
                quantum_bytes: quantum,
                limit_bytes: limit,
                codel: is_fq.then(CoDelConfig::default),
            })
        });
    prop_oneof![codel, red, pie, flow_queues]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Every packet that arrived has left, was dropped, or waits.
    #[test]
    fn no_packet_is_lost_or_made(
        aqm in any_aqm(),
        depth in prop_oneof![Just(0u32), 1..200u32],
        bursts in prop::collection::vec((0..40u64, 1..60usize, 3..1500usize), 1..60),
    ) {
        let mut s = bottleneck(depth, Some(aqm));
        let mut out = Out::default();
        let (mut at, mut came, mut came_bytes) = (0, 0u64, 0u64);
        for (gap, frames, bytes) in bursts {
            at += gap * MS;
            s.run_until(at, &mut out);
            for _ in 0..frames {
                s.receive(0, &vec![0; bytes], at);
                came += 1;
                came_bytes += bytes as u64;
            }
            let p = s.port_mut(1);
            let aqm = p.aqm_counts().unwrap();
            let (waiting, flying) = (p.queue_packets() as u64, u64::from(p.queue_packets() > 0));
            let gone = p.tx_packets + p.tail_dropped_packets + aqm.dropped_packets;
            // One packet may be on the wire.
            prop_assert!((gone + waiting..=gone + waiting + 1 + flying).contains(&came));
        }
        s.run_until(at + 100 * SECOND, &mut out);
        let p = s.port_mut(1);
        let aqm = p.aqm_counts().unwrap();
        prop_assert_eq!(p.queue_bytes, 0);
        prop_assert_eq!(p.tx_packets, out.0.len() as u64);
        prop_assert_eq!(came, p.tx_packets + p.tail_dropped_packets + aqm.dropped_packets);
        prop_assert_eq!(came_bytes, p.tx_bytes + p.tail_dropped_bytes + aqm.dropped_bytes);
        // Its program has no fields for marks.
        prop_assert_eq!(aqm.marked_packets, 0);
    }

    /// An unmanaged queue behaves the same whether or not another queue is managed.
    #[test]
    fn another_queue_is_left_alone(aqm in any_aqm()) {
        let mut s = echo();
        s.set_priority_queues(2);
        s.configure(1, PortConfig { rate_bps: 1_000_000, depth_packets: 0, ..PortConfig::default() });
        s.set_aqm(1, 1, aqm).unwrap();
        let mut out = Out::default();
        for _ in 0..500 {
            s.receive(0, &[0; 1000], 0);
        }
        s.run_until(100 * SECOND, &mut out);
        prop_assert_eq!(out.0.len(), 500);
    }
}
