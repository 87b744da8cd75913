// SPDX-License-Identifier: Apache-2.0
//! Queue management under Tidemark's program: each packet has one correct report.

use std::collections::BTreeMap;

use crate::common::{Captured, REPORT_PORT, call, internet_checksum, limit, tcp, tidemark};
use p4runtime_server::target::{EntryId, KeyMatch, MatchValue, TableEntry};
use tidemark_switch::p4runtime::insert;
use traffic_manager::{AqmConfig, CoDelConfig, PieConfig, PortConfig, RedConfig, Switch};

const FRAME: usize = 1514;
const ECT_0: u8 = 2;
const CE: u8 = 3;

fn be(b: &[u8]) -> u64 {
    b.iter().fold(0, |a, x| (a << 8) | u64::from(*x))
}

/// A report: the packet it is about, and its contents.
struct Report {
    sequence: u64,
    hw_id: u8,
    packet: u64,
    occupancy: u64,
    /// Reason of a drop.
    reason: Option<u8>,
    flags: u8,
    /// IP header of the packet.
    ip: Vec<u8>,
}

fn report(frame: &[u8]) -> Report {
    let p = &frame[42..];
    let md = &p[20..];
    let dropped = p[11] & 0x80 != 0;
    let (domain, inner) = if dropped { (20, 28) } else { (24, 32) };
    Report {
        sequence: be(&p[0..4]) & 0x3f_ffff,
        hw_id: (p[0] & 15) << 2 | p[1] >> 6,
        packet: be(&md[inner + 24..inner + 28]),
        occupancy: be(&md[5..8]),
        reason: dropped.then(|| md[17]),
        flags: md[domain + 5],
        ip: md[inner..inner + 20].to_vec(),
    }
}

fn bottleneck(aqm: AqmConfig) -> Switch {
    let mut s = tidemark();
    let config = PortConfig {
        rate_bps: 100_000_000,
        depth_packets: 0,
        ..PortConfig::default()
    };
    s.configure(2, config);
    s.set_aqm(2, 0, aqm).unwrap();
    s
}

fn with_ecn(mut frame: Vec<u8>, ecn: u8) -> Vec<u8> {
    frame[15] |= ecn;
    frame[24..26].fill(0);
    let sum = internet_checksum(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame
}

/// Sends packets, one per `gap_ns`; returns the bytes that waited as each arrived.
fn send(
    s: &mut Switch,
    packets: u32,
    gap_ns: u64,
    ecn: impl Fn(u32) -> u8,
) -> (Captured, Vec<u64>) {
    let (mut out, mut waited) = (Captured::default(), Vec::new());
    for i in 0..packets {
        let t = u64::from(i) * gap_ns;
        s.run_until(t, &mut out);
        waited.push(s.port_mut(2).queue_bytes);
        s.receive(1, &with_ecn(tcp(1, 2, i, FRAME), ecn(i)), t);
    }
    s.run_until(u64::from(packets) * gap_ns + 10_000_000_000, &mut out);
    assert_eq!(s.port_mut(2).queue_bytes, 0);
    (out, waited)
}

fn reports(out: &Captured) -> Vec<Report> {
    let all = out.on(REPORT_PORT);
    all.iter().map(|(_, _, f)| report(f)).collect()
}

fn sequence_of(frame: &[u8]) -> u64 {
    be(&frame[38..42])
}

fn algorithms(ecn: bool) -> [AqmConfig; 3] {
    let red = RedConfig {
        max_probability: 0.5,
        ecn,
        ..RedConfig::from_threshold(20 * FRAME as u64)
    };
    let pie = PieConfig {
        ecn,
        ..PieConfig::default()
    };
    let codel = CoDelConfig {
        ecn,
        ..CoDelConfig::default()
    };
    [
        AqmConfig::Red(red),
        AqmConfig::Pie(pie),
        AqmConfig::CoDel(codel),
    ]
}

#[test]
fn each_packet_has_one_report_and_drops_have_reason_73() {
    for aqm in algorithms(false) {
        let mut s = bottleneck(aqm);
        // 10 % more than the port can carry.
        let (out, waited) = send(&mut s, 20_000, 111_000, |_| 0);
        let counts = s.port_mut(2).aqm_counts().unwrap();
        let mut told = BTreeMap::new();
        for (i, r) in reports(&out).into_iter().enumerate() {
            assert_eq!((r.sequence, r.hw_id), (i as u64, 0), "{aqm:?}");
            assert_eq!(
                r.occupancy, waited[r.packet as usize],
                "packet {}",
                r.packet
            );
            assert!(r.reason.is_none_or(|reason| reason == 73));
            assert!(
                told.insert(r.packet, r.reason).is_none(),
                "twice: {}",
                r.packet
            );
        }
        assert_eq!(told.len(), 20_000);
        let dropped = told.values().flatten().count() as u64;
        assert!(dropped > 100, "{aqm:?}: {dropped}");
        assert_eq!(counts.dropped_packets, dropped);
        assert_eq!(counts.dropped_bytes, dropped * FRAME as u64);
        let left: Vec<u64> = out.on(2).iter().map(|f| sequence_of(&f.2)).collect();
        let reported = told.iter().filter(|(_, reason)| reason.is_none());
        assert_eq!(left, reported.map(|(n, _)| *n).collect::<Vec<_>>());
        // By its own registers, the program knows that nothing waits.
        let t = s.now_ns();
        let mut out = Captured::default();
        s.receive(1, &tcp(1, 2, 1, FRAME), t);
        s.run_until(t + 1_000_000_000, &mut out);
        assert_eq!(reports(&out)[0].occupancy, 0);
    }
}

/// The program's limit refuses first, with reason 71 and its own numbers.
#[test]
fn the_limit_stays_in_force() {
    let mut s = bottleneck(AqmConfig::CoDel(CoDelConfig::default()));
    limit(&mut s, 2, 150_000);
    let (out, waited) = send(&mut s, 20_000, 90_000, |_| 0);
    let counts = s.port_mut(2).aqm_counts().unwrap();
    let mut by_reason = BTreeMap::new();
    for r in reports(&out) {
        assert_eq!(r.occupancy, waited[r.packet as usize]);
        assert_eq!(r.hw_id, u8::from(r.reason == Some(71)));
        *by_reason.entry(r.reason).or_insert(0u64) += 1;
    }
    assert_eq!(by_reason.values().sum::<u64>(), 20_000);
    assert_eq!(by_reason[&Some(73)], counts.dropped_packets);
    assert!(
        by_reason[&Some(71)] > 100 && by_reason[&Some(73)] > 50,
        "{by_reason:?}"
    );
    assert_eq!(s.port_mut(2).tail_dropped_packets, 0);
}

#[test]
fn capable_packets_are_marked_and_reports_show_it() {
    for aqm in algorithms(true) {
        let mut s = bottleneck(aqm);
        // Every other packet is ECN-capable.
        let (out, _) = send(&mut s, 15_000, 120_000, |i| ECT_0 * (i % 2) as u8);
        let counts = s.port_mut(2).aqm_counts().unwrap();
        assert!(counts.marked_packets > 10, "{aqm:?}: {counts:?}");
        let mut marked = Vec::new();
        for (_, _, f) in out.on(2) {
            assert_eq!(internet_checksum(&f[14..34]), 0, "IPv4 header checksum");
            let is_capable = sequence_of(f) % 2 == 1;
            assert!(is_capable || f[15] & CE == 0);
            if f[15] & CE == CE {
                marked.push(sequence_of(f));
            }
        }
        assert_eq!(marked.len() as u64, counts.marked_packets);
        let told = reports(&out);
        for r in &told {
            assert!(
                r.reason.is_none() || r.packet % 2 == 0,
                "dropped: {}",
                r.packet
            );
            assert_eq!(internet_checksum(&r.ip), 0, "IPv4 header checksum");
            assert_eq!(r.flags == 1, r.ip[1] & CE == CE);
        }
        let told = told.iter().filter(|r| r.flags == 1).map(|r| r.packet);
        assert_eq!(told.collect::<Vec<_>>(), marked);
    }
}

/// All drops and marks are reported, even for packets outside the sample.
#[test]
fn signals_are_reported_whatever_the_sampling() {
    let any = |bits: u32| KeyMatch {
        bits,
        value: MatchValue::Ternary {
            value: vec![0; bits.div_ceil(8) as usize],
            mask: vec![0; bits.div_ceil(8) as usize],
        },
    };
    let aqm = AqmConfig::CoDel(CoDelConfig {
        ecn: true,
        ..CoDelConfig::default()
    });
    let mut s = bottleneck(aqm);
    let one_in_16 = TableEntry {
        matches: [32, 32, 8, 16, 16, 9, 9].map(any).into(),
        priority: 9,
        action: call("Ingress.report", &[&[4]]).into(),
    };
    let e = &mut s.loaded_mut().unwrap().engine;
    insert(e, "Ingress.watch", EntryId(2), &one_in_16).unwrap();
    let (out, _) = send(&mut s, 20_000, 120_000, |i| ECT_0 * (i % 2) as u8);
    let counts = s.port_mut(2).aqm_counts().unwrap();
    let told = reports(&out);
    let count = |flags: u8, dropped: bool| {
        let told = told.iter();
        told.filter(|r| r.flags == flags && r.reason.is_some() == dropped)
            .count() as u64
    };
    assert_eq!(count(0, true), counts.dropped_packets);
    assert_eq!(count(1, false) + count(3, false), counts.marked_packets);
    assert!(
        counts.marked_packets > 20 && counts.dropped_packets > 20,
        "{counts:?}"
    );
    assert!(
        count(3, false) > count(1, false),
        "one in 16 is in the sample"
    );
    assert!((900..1500).contains(&count(0, false)));
}

#[test]
fn ipv6_is_marked_too() {
    let aqm = AqmConfig::CoDel(CoDelConfig {
        ecn: true,
        ..CoDelConfig::default()
    });
    let mut s = bottleneck(aqm);
    let mut frame = tcp(1, 2, 0, FRAME);
    frame[12..54].fill(0);
    frame[12..14].copy_from_slice(&[0x86, 0xdd]);
    // Version, traffic class with ECT(0), payload length, TCP, hop limit.
    frame[14..22].copy_from_slice(&[0x60, ECT_0 << 4, 0, 0, 5, 220, 6, 64]);
    frame[18..20].copy_from_slice(&((FRAME - 54) as u16).to_be_bytes());
    let mut out = Captured::default();
    for i in 0..10_000 {
        s.run_until(i * 121_000, &mut out);
        s.receive(1, &frame, i * 121_000);
    }
    s.run_until(10_000_000_000, &mut out);
    let marks = out.on(2).iter().filter(|f| f.2[15] == CE << 4).count() as u64;
    let counts = s.port_mut(2).aqm_counts().unwrap();
    assert_eq!((marks, counts.dropped_packets), (counts.marked_packets, 0));
    assert!(marks > 20 && out.on(2).len() == 10_000, "{marks}");
}

/// Reports that wait in a managed queue are neither marked nor reported themselves.
#[test]
fn a_report_is_no_packet_to_report() {
    let aqm = AqmConfig::CoDel(CoDelConfig {
        ecn: true,
        ..CoDelConfig::default()
    });
    let mut s = tidemark();
    let config = PortConfig {
        rate_bps: 1_000_000,
        depth_packets: 0,
        ..PortConfig::default()
    };
    s.configure(REPORT_PORT, config);
    s.set_aqm(REPORT_PORT, 0, aqm).unwrap();
    let (out, _) = send(&mut s, 2_000, 500_000, |_| ECT_0);
    let counts = s.port_mut(REPORT_PORT).aqm_counts().unwrap();
    let told = reports(&out);
    assert!(counts.dropped_packets > 20);
    assert_eq!(told.len() as u64 + counts.dropped_packets, 2_000);
    assert_eq!(counts.marked_packets, 0);
    assert!(
        told.iter()
            .all(|r| r.ip[1] & CE == ECT_0 && r.flags == 0 && r.reason.is_none())
    );
}
