// SPDX-License-Identifier: Apache-2.0
//! Reports per second from memory, compared with a naive decoder in the same run. `cargo bench -p
//! int-report` prints the medians.
#![allow(clippy::unwrap_used)]

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use int_report::encode::{encode, postcard};
use int_report::sequence::{StreamConfig, StreamKey, StreamTable};
use int_report::{Report, decode, parse_inner, peek_header};

fn main() {
    divan::main();
}

/// Number of datagrams in memory: more than the caches nearest to the core hold.
const DATAGRAMS: u32 = 20_000;

/// 40 bytes of IPv4 and TCP header of one of a thousand flows.
fn packet(n: u32) -> Vec<u8> {
    let flow = n % 1_000;
    let mut packet = vec![
        0x45, 0, 0x05, 0xdc, 0, 0, 0x40, 0, 0x3f, 6, 0, 0, 10, 0, 0, 0, 10, 1, 0, 2,
    ];
    packet[14..16].copy_from_slice(&(flow as u16).to_be_bytes());
    packet.extend(40_000u16.to_be_bytes());
    packet.extend(5_001u16.to_be_bytes());
    packet.extend((n * 1448).to_be_bytes());
    packet.extend([0, 0, 0, 1, 0x50, 0x10, 0x20, 0, 0, 0, 0, 0]);
    packet
}

fn report(n: u32, packet: &[u8]) -> Report<'_> {
    let mut report = postcard(10, n, (2, 1), packet);
    report.queue_occupancy = Some(n % 100_000);
    report.ingress_ts = Some(u64::from(n) * 1_000);
    report.egress_ts = Some(u64::from(n) * 1_000 + 500);
    if n.is_multiple_of(100) {
        report.dropped = true;
        report.drop_reason = Some(71);
        report.egress_ts = None;
    }
    report
}

/// One postcard per datagram, as a switch sends them: 92 bytes each.
fn single() -> Vec<Vec<u8>> {
    (0..DATAGRAMS)
        .map(|n| encode(&[report(n, &packet(n))]).unwrap())
        .collect()
}

/// Twelve postcards per datagram.
fn coalesced() -> Vec<Vec<u8>> {
    (0..DATAGRAMS / 12)
        .map(|n| {
            let packets: Vec<Vec<u8>> = (0..12).map(|k| packet(12 * n + k)).collect();
            let mut reports: Vec<Report<'_>> =
                packets.iter().map(|packet| report(n, packet)).collect();
            reports[1..]
                .iter_mut()
                .for_each(|r| r.first_in_datagram = false);
            encode(&reports).unwrap()
        })
        .collect()
}

/// Uses every field, so that none of the work can be left out.
#[inline(always)]
fn use_report(sum: u64, r: &Report<'_>) -> u64 {
    sum.wrapping_add(u64::from(r.queue_occupancy.unwrap_or(0)))
        .wrapping_add(r.ingress_ts.unwrap_or(0))
        .wrapping_add(r.egress_ts.unwrap_or(0))
        .wrapping_add(u64::from(r.egress_port.unwrap_or(0)))
        .wrapping_add(u64::from(r.ingress_port.unwrap_or(0)))
        .wrapping_add(u64::from(r.limit.unwrap_or(0)))
        .wrapping_add(u64::from(r.drop_reason.unwrap_or(0)))
        .wrapping_add(u64::from(r.policy_flags.unwrap_or(0)))
        .wrapping_add(u64::from(r.sequence) + u64::from(r.node_id))
        .wrapping_add(r.inner.packet.len() as u64)
}

fn run(bencher: Bencher<'_, '_>, payloads: &[Vec<u8>], each: impl Fn(u64, &Report<'_>) -> u64) {
    let reports: usize = payloads.iter().map(|p| decode(p, |_| {}).unwrap()).sum();
    bencher.counter(ItemsCount::new(reports)).bench_local(|| {
        let mut sum = 0;
        for payload in payloads {
            let _ = decode(black_box(payload), |r| sum = each(sum, r));
        }
        sum
    });
}

#[divan::bench]
fn v2_one_per_datagram(bencher: Bencher<'_, '_>) {
    run(bencher, &single(), use_report);
}

#[divan::bench]
fn v2_twelve_per_datagram(bencher: Bencher<'_, '_>) {
    run(bencher, &coalesced(), use_report);
}

#[divan::bench]
fn v2_with_inner_packet(bencher: Bencher<'_, '_>) {
    run(bencher, &single(), |sum, r| {
        let inner = parse_inner(&r.inner).map_or(0, |p| u64::from(p.tcp_seq));
        use_report(sum, r).wrapping_add(inner)
    });
}

#[divan::bench]
fn v2_with_inner_packet_and_sequence(bencher: Bencher<'_, '_>) {
    let payloads = single();
    let exporter = [192, 0, 2, 10].into();
    bencher
        .counter(ItemsCount::new(payloads.len()))
        .with_inputs(|| StreamTable::new(StreamConfig::default(), 16))
        .bench_local_values(|mut streams| {
            let mut sum = 0;
            for payload in &payloads {
                let payload = black_box(payload);
                if let Some(header) = peek_header(payload) {
                    let key = StreamKey {
                        exporter,
                        node_id: header.node_id,
                        hw_id: header.hw_id,
                        sequence_bits: header.sequence_bits,
                    };
                    streams.observe(key, header.sequence, None);
                }
                let _ = decode(payload, |r| {
                    let inner = parse_inner(&r.inner).map_or(0, |p| u64::from(p.tcp_seq));
                    sum = use_report(sum, r).wrapping_add(inner);
                });
            }
            (sum, streams.total())
        });
}

/// Decodes as a straightforward decoder does: collects the fields by name and the inner packet into
/// owned values.
#[divan::bench]
fn naive_map_per_report(bencher: Bencher<'_, '_>) {
    let payloads = single();
    bencher
        .counter(ItemsCount::new(payloads.len()))
        .bench_local(|| {
            let mut sum = 0u64;
            for payload in &payloads {
                let report = naive::decode(black_box(payload));
                sum = sum
                    .wrapping_add(report.fields.values().sum::<u64>() + report.inner.len() as u64);
            }
            sum
        });
}

mod naive {
    use std::collections::HashMap;

    pub(crate) struct Owned {
        pub fields: HashMap<&'static str, u64>,
        pub inner: Vec<u8>,
    }

    /// Baseline fields in the order of their bits: bit, name, bytes.
    const FIELDS: [(u16, &str, usize); 5] = [
        (0x4000, "ports", 4),
        (0x1000, "queue", 4),
        (0x0800, "ingress_ts", 8),
        (0x0400, "egress_ts", 8),
        (0x0001, "drop", 4),
    ];

    fn number(bytes: &[u8]) -> u64 {
        bytes.iter().fold(0, |n, &b| n << 8 | u64::from(b))
    }

    pub(crate) fn decode(payload: &[u8]) -> Owned {
        let mut fields = HashMap::new();
        let word = number(&payload[0..4]);
        fields.insert("sequence", word & 0x3f_ffff);
        fields.insert("hw_id", word >> 22 & 0x3f);
        fields.insert("node", number(&payload[4..8]));
        fields.insert("flags", number(&payload[11..12]));
        let metadata_end = 20 + 4 * usize::from(payload[10]);
        let bits = number(&payload[12..14]) as u16;
        let mut at = 20;
        for (bit, name, bytes) in FIELDS {
            if bits & bit != 0 {
                fields.insert(name, number(&payload[at..at + bytes]));
                at += bytes;
            }
        }
        fields.insert("limit", number(&payload[at..at + 4]));
        fields.insert("policy", number(&payload[at + 4..at + 8]));
        Owned {
            fields,
            inner: payload[metadata_end..].to_vec(),
        }
    }
}
