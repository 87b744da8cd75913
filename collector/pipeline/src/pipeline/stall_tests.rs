// SPDX-License-Identifier: Apache-2.0
//! The collector was stalled: reports waited in their socket, and samples in their
//! rings, for longer than a packet waits for its sample.
use super::*;
use crate::rows::{Join, VecSink};
use crate::testing::{Feeder, MS, MSS, Packet, config, sample};
use tcp_probe::Event as HostEvent;

/// Node clock less host clock.
const AHEAD_NS: u64 = 1000 * MS;
/// From the sender through the switch, and to it again through the receiver.
const TO_COLLECTOR_NS: u64 = 5 * MS;
const RTT_NS: u64 = 13 * MS;
const ROUND_NS: u64 = 14 * MS;
/// The stall, by rounds: 2.8 s, and with more samples than a flow remembers.
const STALLED: std::ops::Range<u32> = 20..220;
const ROUNDS: u32 = 260;

/// A round trip: segments, and the sample of their acknowledgement.
struct Round {
    number: u32,
    /// Reception and sequence number.
    segments: Vec<(u64, u32)>,
    sample: (u64, HostEvent),
}

/// Every packet's true window is the number of its round.
fn round(number: u32) -> Round {
    let start_ns = MS + u64::from(number) * ROUND_NS;
    let first = 100 + number * 4 * MSS;
    let next = first + 4 * MSS;
    let segments = (0..4).map(|i| {
        let rx_ns = start_ns + u64::from(i) * 1000 + TO_COLLECTOR_NS;
        (rx_ns, first + i * MSS)
    });
    let at_ns = start_ns + RTT_NS;
    Round {
        number,
        segments: segments.collect(),
        sample: (at_ns, sample(1, at_ns, next, first, number)),
    }
}

fn reports(p: &mut Pipeline<VecSink>, feeder: &mut Feeder, round: &Round) {
    for &(rx_ns, seq) in &round.segments {
        let egress_ns = rx_ns + AHEAD_NS;
        let packet = Packet {
            seq,
            ingress_ns: egress_ns - 3 * MS,
            egress_ns: Some(egress_ns),
            ..Packet::default()
        };
        feeder.push(p, packet, rx_ns);
    }
}

/// What waited is handed over at the end of the stall, in one order or the other.
fn run(samples_first: bool) -> Vec<(u32, u32, Join)> {
    let mut p = Pipeline::new(config(), VecSink::default()).unwrap();
    let mut feeder = Feeder { sequence: 5 };
    let rounds: Vec<Round> = (0..ROUNDS).map(round).collect();
    let (stalled, awake): (Vec<&Round>, Vec<&Round>) =
        rounds.iter().partition(|r| STALLED.contains(&r.number));
    for r in awake {
        if r.number == STALLED.end {
            let wakes_ns = r.segments[0].0 - MS;
            let samples: Vec<HostEvent> = stalled.iter().map(|r| r.sample.1).collect();
            p.hand_over(wakes_ns);
            if samples_first {
                p.push_events("a", samples.clone());
            }
            for r in &stalled {
                reports(&mut p, &mut feeder, r);
            }
            if !samples_first {
                p.push_events("a", samples);
            }
            p.advance(wakes_ns);
        }
        p.hand_over(r.segments[0].0);
        reports(&mut p, &mut feeder, r);
        p.hand_over(r.sample.0);
        p.push_event("a", r.sample.1);
        p.advance(r.sample.0);
    }
    p.finish();
    let rows = &p.sink().postcards;
    rows.iter().map(|r| (r.tcp_seq, r.cwnd, r.join)).collect()
}

/// Packets that had waited for long in the socket were given up at once, and got the
/// last sample of before the stall; where the samples came first, those that a flow
/// remembers, which are the last ones.
#[test]
fn packets_of_a_stall_get_the_windows_that_they_left_under() {
    let truth: Vec<(u32, u32, Join)> = (0..ROUNDS)
        .flat_map(|n| round(n).segments.into_iter().map(move |(_, seq)| (n, seq)))
        .map(|(n, seq)| (seq, n, Join::Sequence))
        .collect();
    for samples_first in [false, true] {
        let rows = run(samples_first);
        assert_eq!(rows.len(), truth.len());
        let wrong: Vec<_> = rows.iter().zip(&truth).filter(|(r, t)| r != t).collect();
        let first = &wrong[..wrong.len().min(3)];
        assert!(
            wrong.is_empty(),
            "{samples_first}: {} wrong: {first:?}",
            wrong.len()
        );
    }
}
