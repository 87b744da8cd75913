// SPDX-License-Identifier: Apache-2.0
//! Tests of a stalled collector: reports waited in their socket, and samples in their rings, for
//! longer than a packet waits for its sample.
use super::*;
use crate::rows::{Event, Join, VecSink};
use crate::testing::{Feeder, MS, MSS, Packet, config, sample};
use tcp_probe::Event as HostEvent;

/// Node clock minus host clock.
const AHEAD_NS: u64 = 1000 * MS;
/// Time from the sender to the collector; `RTT_NS` is that to the sender and back.
const TO_COLLECTOR_NS: u64 = 5 * MS;
const RTT_NS: u64 = 13 * MS;
const ROUND_NS: u64 = 14 * MS;
/// Rounds of the stall: 2.8 s, and more samples than a flow remembers.
const STALLED: std::ops::Range<u32> = 20..220;
const ROUNDS: u32 = 260;

/// A round trip: segments, and the sample of their acknowledgement.
struct Round {
    number: u32,
    /// Reception time and sequence number.
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

/// Hands over the waiting packets and samples at the end of the stall, in one order or the other.
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

/// Packets that had waited long in the socket used to be given up at once, and got the last sample
/// before the stall; if the samples came first, they got the last samples, which a flow remembers.
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

/// Sends a report each ms. The collector gets the time every 20 ms, except for a pause from 6 s on;
/// the reports that wait then, as many as the socket holds, are read within 2 s.
fn paused(pause_s: u64, room_s: u64, clock_ms: impl Fn(u64) -> u64) -> Pipeline<VecSink> {
    let pause_ms = 6_000..6_000 + 1_000 * pause_s;
    let mut p = Pipeline::new(config(), VecSink::default()).unwrap();
    let mut feeder = Feeder { sequence: 5 };
    let mut push = |p: &mut Pipeline<VecSink>, ms: u64, rx_ns: u64| {
        let egress_ns = (clock_ms(ms) + 1) * MS;
        let packet = Packet {
            seq: ms as u32 * MSS,
            ingress_ns: egress_ns - MS,
            egress_ns: Some(egress_ns),
            ..Packet::default()
        };
        p.hand_over(rx_ns);
        feeder.push(p, packet, rx_ns);
    };
    for ms in 1_000..pause_ms.start {
        push(&mut p, ms, ms * MS);
        if ms.is_multiple_of(20) {
            p.advance(ms * MS);
        }
    }
    // The engine wakes before the thread that reads the socket.
    for ms in 0..30 {
        p.hand_over((pause_ms.end + ms * 20) * MS);
        p.advance((pause_ms.end + ms * 20) * MS);
    }
    let woken_ms = pause_ms.end + 600;
    let full_ms = woken_ms.min(pause_ms.start + 1_000 * room_s);
    for ms in (pause_ms.start..full_ms).chain(woken_ms..pause_ms.end + 8_000) {
        let backlog_ms = woken_ms + (ms.min(full_ms) - pause_ms.start) / 13;
        let rx_ns = backlog_ms.max(ms) * MS;
        push(&mut p, ms, rx_ns);
        if ms.is_multiple_of(20) {
            p.advance(rx_ns);
        }
    }
    p.finish();
    p
}

fn restarts(p: &Pipeline<VecSink>) -> usize {
    let events = p.sink().events.iter();
    events
        .filter(|e| matches!(e.event, Event::Restart { .. }))
        .count()
}

/// The time of the pause used to be declared over, and reports that had waited through it lagged
/// for so long that they passed for a restarted clock.
#[test]
fn a_pause_of_the_collector_is_no_restart_and_loses_nothing() {
    let p = paused(26, 60, |ms| ms);
    assert_eq!(restarts(&p), 0);
    let links = p.sink().updates.iter().flat_map(|u| &u.link_intervals);
    let starts: Vec<u64> = links.clone().map(|l| l.start_ns).collect();
    assert!(starts.is_sorted());
    assert_eq!(links.map(|l| l.arrivals).sum::<u32>(), 39_000);
    assert_eq!(p.stats().rows_late, 0);
}

/// Packets from after the pause are not counted in the time before it.
#[test]
fn a_pause_of_which_little_was_kept_leaves_the_rest_in_its_place() {
    let p = paused(300, 10, |ms| ms);
    assert_eq!(restarts(&p), 0);
    let stats = p.stats();
    assert_eq!((stats.rows_late, stats.rows_ahead), (0, 0));
}

#[test]
fn a_switch_that_restarts_while_the_collector_pauses_is_followed() {
    let p = paused(26, 60, |ms| if ms < 20_000 { ms } else { ms - 20_000 });
    assert_eq!(restarts(&p), 1);
}
