// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::rows::{Join, VecSink};
use crate::testing::{Feeder, MS, MSS, Packet, config, sample};

/// Node clock minus host clock.
const AHEAD: u64 = 1000 * MS;
/// Sender to switch, and switch to sender through the receiver.
const TO_SWITCH: u64 = 2 * MS;
const BACK: u64 = 8 * MS;
const QUEUE: u64 = 3 * MS;

struct Lab {
    pipeline: Pipeline<VecSink>,
    feeder: Feeder,
    now: u64,
}

impl Lab {
    fn new(config: Config) -> Self {
        Self {
            pipeline: Pipeline::new(config, VecSink::default()).unwrap(),
            feeder: Feeder { sequence: 5 },
            now: 0,
        }
    }

    /// Sends a segment that leaves its host at `host_ns`, and its report.
    fn send(&mut self, src: u8, host_ns: u64, seq: u32, dropped: bool) {
        let ingress_ns = host_ns + TO_SWITCH + AHEAD;
        let packet = Packet {
            src,
            seq,
            ingress_ns,
            egress_ns: (!dropped).then_some(ingress_ns + QUEUE),
            ..Packet::default()
        };
        let rx_ns = host_ns + TO_SWITCH + QUEUE + 50_000;
        self.now = self.now.max(rx_ns);
        self.feeder.push(&mut self.pipeline, packet, rx_ns);
    }

    fn ack(&mut self, src: u8, host_ns: u64, snd_nxt: u32, snd_una: u32, cwnd: u32) {
        self.pipeline
            .push_event("a", sample(src, host_ns, snd_nxt, snd_una, cwnd));
    }

    fn finish(mut self) -> Pipeline<VecSink> {
        self.pipeline.finish();
        self.pipeline
    }
}

/// Sends windows of `cwnd` segments, each acknowledged at once; every packet's true window is its
/// `cwnd`.
fn rounds(lab: &mut Lab, src: u8, isn: u32, count: u32) -> Vec<(u32, u32)> {
    let mut truth = Vec::new();
    let mut seq = isn;
    let mut una = isn;
    for round in 0..count {
        let cwnd = 10 + round;
        let start = u64::from(round) * (TO_SWITCH + QUEUE + BACK + MS) + MS;
        for i in 0..cwnd {
            lab.send(src, start + u64::from(i) * 1000, seq, false);
            truth.push((seq, cwnd));
            seq = seq.wrapping_add(MSS);
        }
        // One ACK for all: its sample shows the state that they left under.
        lab.ack(src, start + TO_SWITCH + QUEUE + BACK, seq, una, cwnd);
        una = seq;
    }
    truth
}

fn joined(pipeline: &Pipeline<VecSink>) -> Vec<(u32, u32, Join)> {
    let rows = &pipeline.sink().postcards;
    rows.iter().map(|r| (r.tcp_seq, r.cwnd, r.join)).collect()
}

#[test]
fn each_segment_gets_the_window_it_left_under_across_the_wrap() {
    let mut lab = Lab::new(config());
    let truth = rounds(&mut lab, 1, 0xffff_0000, 20);
    let p = lab.finish();
    let expected: Vec<_> = truth
        .into_iter()
        .map(|(seq, cwnd)| (seq, cwnd, Join::Sequence))
        .collect();
    assert_eq!(joined(&p), expected);
    let stats = p.stats();
    assert_eq!(stats.join_candidates, stats.join_matched());
    assert_eq!(stats.reports_lost, 0);
}

#[test]
fn samples_may_come_before_or_long_after_the_reports() {
    for (hold_ms, late) in [(0, false), (20, false), (0, true)] {
        let mut lab = Lab::new(Config {
            probe_hold_ms: hold_ms,
            ..config()
        });
        lab.send(1, MS, 100, false);
        if late {
            // Held up elsewhere for longer than a round trip.
            lab.pipeline.advance(300 * MS);
        }
        lab.ack(1, 14 * MS, 100 + MSS, 100, 7);
        lab.pipeline.advance(330 * MS);
        // The sample of the next segment comes before its report.
        lab.ack(1, 30 * MS, 100 + 3 * MSS, 100 + MSS, 9);
        lab.pipeline.advance(360 * MS);
        lab.send(1, 15 * MS, 100 + MSS, false);
        let p = lab.finish();
        assert_eq!(
            joined(&p),
            [(100, 7, Join::Sequence), (100 + MSS, 9, Join::Sequence)],
            "{hold_ms} {late}"
        );
    }
}

#[test]
fn retransmissions_are_noted_with_and_without_a_source_of_samples() {
    for join in [true, false] {
        let mut lab = Lab::new(Config { join, ..config() });
        // Segment 1 is dropped and comes again; 3 overtakes 2; 5 was lost before it came here, so
        // its later arrival is its first.
        let sent = [
            (0, false),
            (1, true),
            (3, false),
            (2, false),
            (4, false),
            (6, false),
            (1, false),
            (5, false),
            (6, false),
        ];
        for (i, &(segment, dropped)) in (1u64..).zip(&sent) {
            // The report of 2 is late, the packet is not.
            let at = if segment == 2 { 2 * MS + 1 } else { i * MS };
            lab.send(1, at, segment * MSS, dropped);
        }
        let p = lab.finish();
        let rows = &p.sink().postcards;
        let again: Vec<u32> = rows
            .iter()
            .filter(|r| r.retransmitted)
            .map(|r| r.tcp_seq / MSS)
            .collect();
        assert_eq!(again, [1, 6], "join {join}");
        let counted: u32 = p
            .sink()
            .updates
            .iter()
            .flat_map(|u| &u.flow_intervals)
            .map(|f| f.retransmitted_packets)
            .sum();
        assert_eq!(counted, 2, "join {join}");
    }
}

#[test]
fn a_retransmission_is_joined_by_time_and_reordering_by_sequence() {
    let mut lab = Lab::new(config());
    rounds(&mut lab, 1, 0, 4);
    let base = (10 + 11 + 12 + 13) * MSS;
    let t = 200 * MS;
    // Segment 1 is dropped, 3 overtakes 2.
    lab.send(1, t, base, false);
    lab.send(1, t + 1000, base + MSS, true);
    lab.send(1, t + 3000, base + 3 * MSS, false);
    lab.send(1, t + 2000, base + 2 * MSS, false);
    lab.ack(1, t + 13 * MS, base + 4 * MSS, base, 14);
    lab.ack(1, t + 14 * MS, base + 4 * MSS, base + MSS, 8);
    lab.send(1, t + 14 * MS + 10_000, base + MSS, false);
    lab.ack(1, t + 28 * MS, base + 4 * MSS, base + MSS, 6);
    let p = lab.finish();
    let rows = &p.sink().postcards[46..];
    let got: Vec<_> = rows
        .iter()
        .map(|r| (r.tcp_seq - base, r.cwnd, r.join, r.retransmitted, r.dropped))
        .collect();
    assert_eq!(
        got,
        [
            (0, 14, Join::Sequence, false, false),
            (MSS, 14, Join::Sequence, false, true),
            (3 * MSS, 14, Join::Sequence, false, false),
            (2 * MSS, 14, Join::Sequence, false, false),
            (MSS, 6, Join::Time, true, false),
        ]
    );
    let drops: Vec<_> = p.sink().updates.iter().flat_map(|u| &u.drops).collect();
    assert_eq!((drops.len(), drops[0].cwnd), (1, 14));
}

#[test]
fn the_last_segments_are_joined_by_time_and_unprobed_flows_never() {
    let mut lab = Lab::new(config());
    lab.send(1, MS, 0, false);
    lab.ack(1, 14 * MS, MSS, 0, 10);
    lab.send(1, 15 * MS, MSS, false);
    lab.send(2, 15 * MS, MSS, false);
    lab.pipeline.advance(1000 * MS);
    let p = lab.finish();
    let joins: Vec<Join> = p.sink().postcards.iter().map(|r| r.join).collect();
    assert_eq!(joins, [Join::Sequence, Join::Time, Join::None]);
    assert_eq!(p.stats().join_candidates, 2);
}

#[test]
fn lost_reports_are_told_with_the_next_interval() {
    let mut lab = Lab::new(config());
    lab.send(1, MS, 0, false);
    lab.feeder.sequence += 7;
    lab.send(1, 2 * MS, MSS, false);
    let p = lab.finish();
    assert_eq!(p.stats().reports_lost, 7);
    let lost: u32 = p
        .sink()
        .updates
        .iter()
        .flat_map(|u| &u.link_intervals)
        .map(|l| l.reports_lost)
        .sum();
    assert_eq!(lost, 7);
}

#[test]
fn duplicates_count_once() {
    let mut lab = Lab::new(config());
    lab.send(1, MS, 0, false);
    lab.feeder.sequence -= 1;
    lab.send(1, MS, 0, false);
    let p = lab.finish();
    assert_eq!(p.stats().reports_duplicate, 1);
    assert_eq!(p.sink().postcards.len(), 1);
}

#[test]
fn two_hosts_get_a_mapping_each() {
    let mut lab = Lab::new(Config {
        local_host: None,
        ..config()
    });
    for i in 0..200u32 {
        let t = u64::from(i) * 20 * MS + MS;
        for src in [1, 2] {
            lab.send(src, t, i * MSS, false);
        }
        // Host b's clock is an hour ahead.
        let hour = 3_600_000 * MS;
        for (host, src, ahead) in [("a", 1, 0), ("b", 2, hour)] {
            let back = t + TO_SWITCH + QUEUE + BACK + ahead;
            lab.pipeline
                .push_event(host, sample(src, back, (i + 1) * MSS, i * MSS, 5));
            lab.pipeline.push_event(
                host,
                sample(src, back + 10_000, (i + 1) * MSS, (i + 1) * MSS, 5),
            );
        }
    }
    let p = lab.finish();
    let clocks = p.clocks();
    assert_eq!(clocks.len(), 2);
    for c in clocks {
        let ahead = if c.host == "b" {
            3_600_000 * MS as i64
        } else {
            0
        };
        let expected = ahead - AHEAD as i64;
        let error_ms = (c.offset_ns - expected) as f64 / MS as f64;
        // Half the difference of the paths: no observation shows it.
        assert!(error_ms.abs() < 10.0, "{error_ms} {c:?}");
    }
    assert!(p.stats().matched_fraction().unwrap() > 0.99);
}

#[test]
fn quiet_time_gives_empty_records() {
    let mut lab = Lab::new(config());
    lab.send(1, 10 * MS, 0, false);
    for i in 1..200 {
        lab.pipeline.advance(i * 20 * MS);
    }
    let before = lab.pipeline.sink().updates.len();
    assert!(before > 10);
    let intervals: Vec<_> = lab
        .pipeline
        .sink()
        .updates
        .iter()
        .flat_map(|u| &u.link_intervals)
        .collect();
    assert!(intervals.len() > 300, "{}", intervals.len());
    for pair in intervals.windows(2) {
        assert_eq!(pair[0].start_ns + pair[0].duration_ns, pair[1].start_ns);
        assert_eq!(pair[0].start_ns % (10 * MS), 0);
    }
    assert_eq!(intervals.iter().map(|l| l.arrivals).sum::<u32>(), 1);
    assert_eq!(intervals.last().unwrap().limit_bytes, 50_000);
}

#[test]
fn arrivals_and_departures_are_counted_in_their_own_interval() {
    let mut lab = Lab::new(config());
    let packet = Packet {
        ingress_ns: 1009 * MS,
        egress_ns: Some(1031 * MS),
        occupancy: 3000,
        ..Packet::default()
    };
    lab.feeder.push(&mut lab.pipeline, packet, 40 * MS);
    let p = lab.finish();
    let l: Vec<_> = p
        .sink()
        .updates
        .iter()
        .flat_map(|u| &u.link_intervals)
        .map(|l| (l.start_ns / MS, l.arrivals, l.packets, l.wire_bytes))
        .collect();
    assert_eq!(
        l,
        [
            (1000, 1, 0, 0),
            (1010, 0, 0, 0),
            (1020, 0, 0, 0),
            (1030, 0, 1, 1078)
        ]
    );
}

#[test]
fn a_restarted_switch_is_followed() {
    let mut lab = Lab::new(config());
    for i in 0..50u32 {
        lab.send(1, 60_000 * MS + u64::from(i) * MS, i * MSS, false);
    }
    lab.feeder.sequence = 0;
    for i in 0..50u64 {
        let packet = Packet {
            seq: (50 + i as u32) * MSS,
            ingress_ns: 5 * MS + i * MS,
            egress_ns: Some(6 * MS + i * MS),
            ..Packet::default()
        };
        lab.feeder
            .push(&mut lab.pipeline, packet, 62_000 * MS + i * MS);
    }
    let p = lab.finish();
    let stats = p.stats();
    assert_eq!(stats.reports_implausible_time, 7);
    assert_eq!(stats.postcard_rows, 93);
    assert!(stats.reports_lost < 10, "{}", stats.reports_lost);
    let arrivals: u32 = p
        .sink()
        .updates
        .iter()
        .flat_map(|u| &u.link_intervals)
        .map(|l| l.arrivals)
        .sum();
    assert_eq!(arrivals, 93);
}

/// No report shows the start of the switch, and when its reports come again its clock is near the
/// old one. Their numbers came before.
#[test]
fn a_switch_that_restarted_unheard_is_followed() {
    let mut lab = Lab::new(config());
    let packet = |n: u64, clock_ms: u64| Packet {
        seq: n as u32 * MSS,
        ingress_ns: clock_ms * MS,
        egress_ns: Some((clock_ms + 1) * MS),
        ..Packet::default()
    };
    for ms in 1..6_000u64 {
        let report = packet(ms, ms);
        lab.feeder.push(&mut lab.pipeline, report, ms * MS);
    }
    // The switch starts again at 6 s and is heard from 11.5 s on.
    for ms in 6_000..11_500 {
        lab.pipeline.advance(ms * MS);
    }
    lab.feeder.sequence = 3_000;
    for ms in 11_500..14_000u64 {
        let report = packet(ms, ms - 6_000);
        lab.feeder.push(&mut lab.pipeline, report, ms * MS);
    }
    let p = lab.finish();
    assert_eq!(p.stats().stream_restarts, 1);
    let ends = p.sink().updates.iter().flat_map(|u| &u.watermarks);
    let ends: Vec<u64> = ends.map(|w| w.time_ns / MS).collect();
    assert!(ends.iter().any(|&ms| ms > 10_000), "{ends:?}");
    let last = ends.last().copied().unwrap();
    assert!((7_000..=8_010).contains(&last), "{last}");
}

#[test]
fn one_absurd_time_does_no_harm() {
    let mut lab = Lab::new(config());
    lab.send(1, MS, 0, false);
    let absurd = Packet {
        ingress_ns: u64::MAX - 5,
        egress_ns: Some(u64::MAX - 1),
        ..Packet::default()
    };
    lab.feeder.push(&mut lab.pipeline, absurd, 2 * MS);
    lab.send(1, 3 * MS, MSS, false);
    let p = lab.finish();
    assert_eq!(p.stats().reports_implausible_time, 1);
    let n: usize = p
        .sink()
        .updates
        .iter()
        .map(|u| u.link_intervals.len())
        .sum();
    assert!(n < 10, "{n}");
}

#[test]
fn the_handshake_gives_the_round_trip() {
    let mut lab = Lab::new(config());
    let syn = Packet {
        flags: 0x02,
        payload: 0,
        seq: 99,
        ingress_ns: 100 * MS,
        egress_ns: Some(103 * MS),
        ..Packet::default()
    };
    let ack = Packet {
        flags: 0x10,
        payload: 0,
        seq: 100,
        ingress_ns: 123 * MS,
        egress_ns: Some(124 * MS),
        ..Packet::default()
    };
    lab.feeder.push(&mut lab.pipeline, syn, MS);
    lab.feeder.push(&mut lab.pipeline, ack, 25 * MS);
    let p = lab.finish();
    let last = p
        .sink()
        .updates
        .iter()
        .flat_map(|u| &u.flows)
        .last()
        .unwrap();
    assert_eq!(last.handshake_rtt_ns, 20 * MS);
}

/// The next packet does not answer a SYN that was dropped here.
#[test]
fn a_dropped_syn_does_not_spoil_the_handshake() {
    for (first_dropped, expected) in [(true, 20 * MS), (false, 0)] {
        let mut lab = Lab::new(config());
        let syn = |at: u64, dropped: bool| Packet {
            flags: 0x02,
            payload: 0,
            seq: 99,
            ingress_ns: at,
            egress_ns: (!dropped).then_some(at + 3 * MS),
            ..Packet::default()
        };
        let ack = Packet {
            flags: 0x10,
            payload: 0,
            seq: 100,
            ingress_ns: 1123 * MS,
            egress_ns: Some(1124 * MS),
            ..Packet::default()
        };
        lab.feeder
            .push(&mut lab.pipeline, syn(100 * MS, first_dropped), MS);
        lab.feeder
            .push(&mut lab.pipeline, syn(1100 * MS, false), 1001 * MS);
        lab.feeder.push(&mut lab.pipeline, ack, 1025 * MS);
        let p = lab.finish();
        let last = p
            .sink()
            .updates
            .iter()
            .flat_map(|u| &u.flows)
            .last()
            .unwrap();
        assert_eq!(last.handshake_rtt_ns, expected);
    }
}

/// Drops of the first data are reported before the acknowledgement leaves.
#[test]
fn drops_reported_early_do_not_spoil_the_handshake() {
    let mut lab = Lab::new(config());
    let syn = Packet {
        flags: 0x02,
        payload: 0,
        seq: 99,
        ingress_ns: 100 * MS,
        egress_ns: Some(300 * MS),
        ..Packet::default()
    };
    let data = |seq: u32, at: u64| Packet {
        flags: 0x10,
        seq,
        ingress_ns: at,
        egress_ns: None,
        ..Packet::default()
    };
    let ack = Packet {
        flags: 0x10,
        payload: 0,
        seq: 100,
        ingress_ns: 320 * MS,
        egress_ns: Some(500 * MS),
        ..Packet::default()
    };
    lab.feeder.push(&mut lab.pipeline, syn, 201 * MS);
    lab.feeder
        .push(&mut lab.pipeline, data(100, 321 * MS), 222 * MS);
    lab.feeder
        .push(&mut lab.pipeline, data(1100, 321 * MS), 222 * MS);
    lab.feeder.push(&mut lab.pipeline, ack, 401 * MS);
    let p = lab.finish();
    let last = p
        .sink()
        .updates
        .iter()
        .flat_map(|u| &u.flows)
        .last()
        .unwrap();
    assert_eq!(last.handshake_rtt_ns, 20 * MS);
}

#[test]
fn memory_for_flows_and_waiting_packets_is_bounded() {
    let mut lab = Lab::new(Config {
        max_flows: 64,
        max_pending: 1024,
        ..config()
    });
    for i in 0..5000u32 {
        let src = (i % 250) as u8;
        lab.send(src, 10 * MS + u64::from(i) * 1000, i, false);
    }
    let p = &lab.pipeline;
    assert!(p.flows_active() <= 64);
    assert!(p.waiting().0 <= 1024);
    let stats = p.stats();
    assert!(stats.flows_evicted > 4000);
    assert!(stats.join_forced > 0);
    assert_eq!(lab.finish().stats().postcard_rows, 5000);
}

#[test]
fn segments_of_a_flow_without_samples_are_not_kept() {
    let mut lab = Lab::new(config());
    for n in 0..5000u32 {
        lab.send(1, u64::from(n) * MS, 1 + n * MSS, false);
    }
    let flow = lab.pipeline.flows.get(0).unwrap();
    let kept = flow.ports[0].remembered();
    assert!((900..=1000).contains(&kept), "{kept}");
}

#[test]
fn events_that_wait_are_bounded() {
    use crate::join::MAX_EVENTS;
    let mut lab = Lab::new(config());
    lab.send(1, MS, 100, false);
    for n in 0..3 * MAX_EVENTS as u64 {
        lab.ack(1, 2 * MS + n, 100 + MSS, 100, 7);
        assert!(lab.pipeline.waiting().1 <= MAX_EVENTS);
    }
    let stats = lab.pipeline.stats();
    assert_eq!(stats.events_forced, 2 * MAX_EVENTS as u64);
    assert_eq!(
        stats.samples, stats.events_forced,
        "each is given to its flow"
    );
    assert_eq!(lab.finish().stats().samples, 3 * MAX_EVENTS as u64);
}

/// Anyone who reaches the collector can make up host names, and containers have random ones.
#[test]
fn samples_of_a_new_host_are_taken_however_many_names_there_were() {
    let mut lab = Lab::new(Config {
        local_host: None,
        ..config()
    });
    for n in 0..3000u32 {
        let made_up = sample(9, MS + u64::from(n), 1, 1, 1);
        lab.pipeline.push_event(&format!("h{n}"), made_up);
    }
    for i in 0..100u32 {
        let t = u64::from(i) * 20 * MS + MS;
        lab.send(1, t, i * MSS, false);
        let back = t + TO_SWITCH + QUEUE + BACK;
        for (later, una) in [(0, i * MSS), (10_000, (i + 1) * MSS)] {
            let honest = sample(1, back + later, (i + 1) * MSS, una, 5);
            lab.pipeline.push_event("honest", honest);
        }
        lab.pipeline
            .push_event(&format!("g{i}"), sample(9, back, 1, 1, 1));
    }
    let p = lab.finish();
    let stats = p.stats();
    assert_eq!(p.sink().probes.len(), 200);
    assert!(stats.join_by_sequence > 90, "{stats:?}");
    assert!(p.clocks().iter().any(|c| c.host == "honest"));
    assert_eq!(stats.hosts_forgotten, 3101 - 1024);
    let made_up = stats.samples_unknown_flow + stats.events_without_host;
    assert_eq!(
        (stats.samples, made_up),
        (3300 - stats.events_without_host, 3100)
    );
}
