// SPDX-License-Identifier: Apache-2.0
//! Reports that the switch programs sent in the PTF tests (ptf-tests/fixtures), on the embedded
//! switch and on the models of Tofino 1 and 2, read by this codec and by the tests' own Scapy
//! layer, which must agree.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeSet;

use int_report::{InnerKind, decode, parse_inner};
use serde_json::Value;

const PCAP: &[u8] = include_bytes!("../../../../ptf-tests/fixtures/reports.pcap");
const BY_SCAPY: &str = include_str!("../../../../ptf-tests/fixtures/reports.jsonl");
const TOFINO_PCAP: &[u8] = include_bytes!("../../../../ptf-tests/fixtures/tofino-reports.pcap");
const TOFINO_BY_SCAPY: &str = include_str!("../../../../ptf-tests/fixtures/tofino-reports.jsonl");
const TOFINO2_PCAP: &[u8] = include_bytes!("../../../../ptf-tests/fixtures/tofino2-reports.pcap");
const TOFINO2_BY_SCAPY: &str = include_str!("../../../../ptf-tests/fixtures/tofino2-reports.jsonl");

/// IPv6, dropped, protocol, fragment.
type Kind = (bool, bool, u8, bool);

/// UDP payloads of a classic little-endian pcap of Ethernet/IPv4/UDP.
fn payloads(pcap: &[u8]) -> Vec<&[u8]> {
    let word = |at: usize| u32::from_le_bytes(pcap[at..at + 4].try_into().unwrap());
    assert_eq!(word(0), 0xa1b2_c3d4, "microseconds, little-endian");
    let mut found = Vec::new();
    let mut at = 24;
    while at < pcap.len() {
        let length = word(at + 8) as usize;
        let frame = &pcap[at + 16..at + 16 + length];
        at += 16 + length;
        let udp_bytes = usize::from(u16::from_be_bytes([frame[38], frame[39]]));
        found.push(&frame[42..34 + udp_bytes]);
    }
    found
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[test]
fn both_codecs_read_the_same() {
    let kinds = compared(PCAP, BY_SCAPY);
    for needed in [
        (false, false, 6, false),
        (false, true, 6, false),
        (false, false, 17, false),
        (false, false, 6, true),
        (false, false, 1, false),
        (true, false, 6, false),
        (true, true, 6, false),
        (true, false, 17, false),
        (true, false, 17, true),
    ] {
        assert!(kinds.contains(&needed), "{needed:?} is not in the fixture");
    }
}

#[test]
fn both_codecs_read_the_same_of_tofino() {
    for (pcap, by_scapy) in [
        (TOFINO_PCAP, TOFINO_BY_SCAPY),
        (TOFINO2_PCAP, TOFINO2_BY_SCAPY),
    ] {
        let kinds = compared(pcap, by_scapy);
        for needed in [
            (false, false, 6, false),
            (false, true, 6, false),
            (false, false, 17, false),
            (true, false, 6, false),
            (true, false, 17, false),
            (true, true, 17, false),
        ] {
            assert!(kinds.contains(&needed), "{needed:?} is not in the fixture");
        }
    }
}

/// Returns the kinds of the reports, which both readers have read alike.
fn compared(pcap: &[u8], by_scapy: &str) -> BTreeSet<Kind> {
    let lines: Vec<Value> = by_scapy
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let payloads = payloads(pcap);
    assert_eq!(payloads.len(), lines.len());
    assert!(lines.len() > 50);
    let mut kinds = BTreeSet::new();
    for (i, (payload, scapy)) in payloads.iter().zip(&lines).enumerate() {
        let count = decode(payload, |r| {
            let number = |name: &str| scapy.get(name).and_then(Value::as_u64);
            let ours = [
                ("version", Some(u64::from(r.version))),
                ("hw_id", Some(u64::from(r.hw_id))),
                ("sequence", Some(u64::from(r.sequence))),
                ("node_id", Some(u64::from(r.node_id))),
                ("dropped", Some(u64::from(r.dropped))),
                ("congested", Some(u64::from(r.congested))),
                ("tracked", Some(u64::from(r.tracked))),
                ("ingress_port", r.ingress_port.map(u64::from)),
                ("egress_port", r.egress_port.map(u64::from)),
                ("queue_id", r.queue_id.map(u64::from)),
                ("occupancy", r.queue_occupancy.map(u64::from)),
                ("ingress_ns", r.ingress_ts),
                ("egress_ns", r.egress_ts),
                ("drop_reason", r.drop_reason.map(u64::from)),
                ("limit", r.limit.map(u64::from)),
                ("sampling_shift", r.sampling_shift.map(u64::from)),
                ("policy_flags", r.policy_flags.map(u64::from)),
            ];
            for (name, value) in ours {
                assert_eq!(value, number(name), "report {i}: {name}");
            }
            assert_eq!(
                scapy["inner"].as_str(),
                Some(hex(r.inner.packet).as_str()),
                "report {i}"
            );
            // None of them is junk.
            let inner = parse_inner(&r.inner).unwrap();
            let shown = &scapy["inner_fields"];
            assert_eq!(shown["src"].as_str().unwrap(), inner.src.to_string());
            assert_eq!(shown["dst"].as_str().unwrap(), inner.dst.to_string());
            let field = |name: &str| shown.get(name).and_then(Value::as_u64).unwrap_or(0);
            assert_eq!(u64::from(inner.protocol), field("protocol"), "report {i}");
            assert_eq!(u64::from(inner.src_port), field("sport"), "report {i}");
            assert_eq!(u64::from(inner.dst_port), field("dport"), "report {i}");
            assert_eq!(u64::from(inner.tcp_seq), field("seq"), "report {i}");
            kinds.insert((
                r.inner.kind == InnerKind::Ipv6,
                r.dropped,
                inner.protocol,
                inner.fragment,
            ));
        })
        .unwrap();
        assert_eq!(count, 1, "report {i}");
    }
    kinds
}
