// SPDX-License-Identifier: Apache-2.0
//! Stacks of INT metadata in packets.

use super::hex;
use crate::encode::{encode, postcard};
use crate::{InnerKind, Report, decode, parse_inner};
use proptest::prelude::*;

fn records(payload: &[u8]) -> (usize, Vec<Report<'_>>) {
    let mut found = Vec::new();
    let count = decode(payload, |r| found.push(*r)).unwrap();
    (count, found)
}

/// Report 1.0 over Ethernet with a VLAN tag; the shim counts itself, as version 1.0 does.
#[test]
fn version_1_in_a_report_of_version_1() {
    let payload = hex("14000040 00000008 000003e8 3a6e9c8d
        0200000000020200000000018100002a0800
        455c0058 00010000 40110000 0a010009 0a010008 c350c351 00440000
        01000f00 10000609 fc000000
        00000008 0017000b ffffffff 02000005 3a6e94e4 3a6e9a94
        00000007 0017000b 00000200 ffffffff 3a6e94e4 ffffffff");
    let (count, records) = records(&payload);
    assert_eq!((count, records.len()), (1, 2));
    let last = &records[0];
    assert_eq!(
        (last.node_id, last.ingress_port, last.egress_port),
        (8, Some(23), Some(11))
    );
    assert_eq!(
        (last.queue_id, last.queue_occupancy, last.hop_latency),
        (Some(2), Some(5), None)
    );
    assert_eq!(
        (last.ingress_ts, last.egress_ts),
        (Some(0x3a6e_94e4), Some(0x3a6e_9a94))
    );
    let first = &records[1];
    assert_eq!((first.node_id, first.hop_latency), (7, Some(512)));
    assert_eq!(
        (first.queue_id, first.queue_occupancy, first.egress_ts),
        (None, None, None)
    );
    for (record, further, carried) in [(last, false, 0), (first, true, 12 + 24)] {
        let hop = record.hop.unwrap();
        assert_eq!(
            (hop.reporter_id, hop.further, hop.carried_bytes),
            (8, further, carried)
        );
        assert_eq!(record.first_in_datagram, !further);
        let packet = parse_inner(&record.inner).unwrap();
        assert_eq!(
            (packet.dst_port, packet.ip_bytes, packet.payload_bytes),
            (0xc351, 28, 0)
        );
    }
}

/// As public programs write it: both lengths of the report are 0.
const LENGTH_0: &str = "20400000 00000003 13000020 00000000 00000000
    020000000002 020000000001 0800
    455c0498 00010000 40110000 0a000101 0a000302 9c4001bb 04840000
    10240000 20000b07 ff000000 00000000
    00000003 00040001 00000000 00000000 0000000000000384 0000000000000385 0000000400000001 00000000
    00000002 00010002 00000000 00000007 0000000000000380 0000000000000381 0000000100000002 00000000
    00000001 00010002 00000190 00000009 00000000000001f4 0000000000000384 0000000100000002 00000000";

#[test]
fn a_report_without_lengths() {
    let payload = hex(LENGTH_0);
    let (count, records) = records(&payload);
    let nodes: Vec<u32> = records.iter().map(|r| r.node_id).collect();
    assert_eq!((count, nodes), (1, vec![3, 2, 1]));
    let first = &records[2];
    assert_eq!(
        (first.queue_occupancy, first.hop_latency),
        (Some(9), Some(400))
    );
    assert_eq!((first.ingress_ts, first.egress_ts), (Some(500), Some(900)));
    let packet = parse_inner(&first.inner).unwrap();
    assert_eq!(
        (packet.ip_bytes, packet.payload_bytes),
        (1176 - 148, 1148 - 148)
    );
    // It is one datagram, whatever its stack looks like.
    assert_eq!(crate::datagrams(&payload).count(), 1);
}

#[test]
fn a_packet_that_is_cut_gives_the_hops_that_are_there() {
    let mut payload = hex(LENGTH_0);
    payload.truncate(payload.len() - 10);
    let (_, records) = records(&payload);
    let left_out: Vec<u8> = records.iter().map(|r| r.hop.unwrap().left_out).collect();
    assert_eq!(left_out, [1, 0]);
}

#[test]
fn a_report_that_says_more_of_its_node_fills_the_gaps_of_the_last_hop() {
    let packet = hex(
        "455c0044 00010000 40110000 0a010009 0a010008 c350c351 00300000
        10070000 20000209 90000000 00000000 00000008 02000005 00000007 ffffffff",
    );
    let of_node = |node_id| Report {
        node_id,
        limit: None,
        sampling_shift: None,
        policy_flags: None,
        queue_occupancy: Some(77),
        hop_latency: Some(13),
        inner: crate::Inner::new(&packet, InnerKind::Ipv4),
        ..postcard(node_id, 1, (2, 1), &packet)
    };
    let seen = |node_id| {
        let payload = encode(&[of_node(node_id)]).unwrap();
        let (_, records) = records(&payload);
        let of = |r: &Report<'_>| (r.node_id, r.egress_port, r.queue_occupancy, r.hop_latency);
        records.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(
        seen(8),
        [(8, Some(1), Some(5), Some(13)), (7, None, None, None)]
    );
    assert_eq!(
        seen(9),
        [
            (9, Some(1), Some(77), Some(13)),
            (8, None, Some(5), None),
            (7, None, None, None)
        ]
    );
}

#[test]
fn ports_and_headers_that_mark_the_packet_are_taken_off() {
    let stack = "20000209 90000000 00000000 00000008 02000005";
    // The original port in the shim.
    let port = hex(&format!(
        "20000001 00000008 14000020 00000000 00000000
        45000048 00010000 40110000 0a010009 0a010008 c3501234 00340000 14051389 {stack} 01020304"
    ));
    let (_, found) = records(&port);
    let packet = parse_inner(&found[0].inner).unwrap();
    assert_eq!(
        (packet.dst_port, packet.ip_bytes, packet.payload_bytes),
        (5001, 48, 20)
    );
    // A UDP header before the original TCP header.
    let tcp = "9c401389 00000007 00000009 50180000 00000000";
    let header = hex(&format!(
        "20000001 00000008 14000020 00000000 00000000
        450005dc 00010000 40110000 0a010009 0a010008 c3501234 05c80000 18050006 {stack} {tcp}"
    ));
    let (_, found) = records(&header);
    let packet = parse_inner(&found[0].inner).unwrap();
    assert_eq!(
        (packet.protocol, packet.dst_port, packet.tcp_seq),
        (6, 5001, 7)
    );
    assert_eq!(
        (packet.ip_bytes, packet.payload_bytes),
        (1500 - 32, 1500 - 20 - 32 - 20)
    );
}

/// A stack as its version encodes it.
#[derive(Clone, Debug)]
struct Written {
    version: u8,
    bits: u16,
    hops: usize,
    /// Whether the packet has a VLAN tag, TCP options, IPv6.
    shape: (bool, bool, bool),
}

impl Written {
    fn words(&self) -> usize {
        let wide = if self.version == 1 { 0x0200 } else { 0x0e00 };
        (self.bits.count_ones() + (self.bits & wide).count_ones()) as usize
    }

    /// Words of a hop; the `n`th shows its place.
    fn hop(&self, hop: usize) -> impl Iterator<Item = u32> + '_ {
        (0..self.words()).map(move |n| (hop * 64 + n) as u32 + 1)
    }

    fn packet(&self) -> Vec<u8> {
        let (vlan, options, v6) = self.shape;
        let head_words = if self.version == 1 { 2 } else { 3 };
        let stack_words = head_words + self.hops * self.words();
        let tcp_bytes = if options { 32 } else { 20 };
        let length = tcp_bytes + 4 + 4 * stack_words + 1000;
        let mut p = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        if vlan {
            p.extend([0x81, 0, 0, 5]);
        }
        if v6 {
            p.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            p.extend((length as u16).to_be_bytes());
            p.extend([6, 64]);
            p.extend([1; 32]);
        } else {
            p.extend([8, 0, 0x45, 0x5c]);
            p.extend((length as u16 + 20).to_be_bytes());
            p.extend([0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        }
        p.extend([0x9c, 0x40, 0x13, 0x89, 0, 0, 0, 7, 0, 0, 0, 9]);
        p.extend([(tcp_bytes as u8 / 4) << 4, 0x18, 0, 0, 0, 0, 0, 0]);
        p.extend(vec![1; tcp_bytes - 20]);
        let hop_words = self.words() as u8;
        if self.version == 1 {
            p.extend([1, 0, stack_words as u8 + 1, 0, 0x10, 0, hop_words, 9]);
            p.extend(self.bits.to_be_bytes());
            p.extend([0, 0]);
        } else {
            p.extend([0x10, stack_words as u8, 0, 0, 0x20, 0, hop_words, 9]);
            p.extend(self.bits.to_be_bytes());
            p.extend([0; 6]);
        }
        for hop in 0..self.hops {
            p.extend(self.hop(hop).flat_map(u32::to_be_bytes));
        }
        p
    }

    /// The value that the words of a hop have for an instruction.
    fn value(&self, hop: usize, bit: u16) -> Option<u64> {
        if self.bits & bit == 0 {
            return None;
        }
        let before = Self {
            bits: self.bits & !(bit | (bit - 1)),
            ..self.clone()
        };
        let words: Vec<u32> = self.hop(hop).skip(before.words()).collect();
        let wide = self.version == 2 && bit & 0x0c00 != 0;
        Some(match wide {
            true => u64::from(words[0]) << 32 | u64::from(words[1]),
            false => words[0].into(),
        })
    }
}

fn written() -> impl Strategy<Value = Written> {
    let bits = (any::<u16>(), any::<bool>()).prop_map(|(bits, named)| {
        let bits = bits | if named { 0x8000 } else { 0 };
        if bits == 0 { 0x8000 } else { bits }
    });
    (1u8..3, bits, 1usize..16, any::<(bool, bool, bool)>()).prop_map(
        |(version, bits, hops, shape)| {
            let mut w = Written {
                version,
                bits,
                hops,
                shape,
            };
            // The length of a stack has eight bits.
            w.hops = hops.min((254 - 3) / w.words());
            w
        },
    )
}

proptest! {
    /// Any version, instructions, number of hops and shape of packet, in reports of both
    /// versions.
    #[test]
    fn every_hop_is_a_record(w in written(), v1: bool, no_length: bool) {
        let packet = w.packet();
        let mut payload = match v1 {
            true => hex("14000040 00000063 000003e8 00000064"),
            false => hex("20000001 00000063 13000020 00000000 00000000"),
        };
        if !v1 {
            let words = 2 + packet.len() / 4;
            payload[9] = match (no_length, words) {
                (true, _) => 0,
                (false, words) => u8::try_from(words).unwrap_or(0xff),
            };
        }
        payload.extend(&packet);
        let (count, records) = records(&payload);
        prop_assert_eq!(count, 1);
        let named = w.bits & 0x8000 != 0;
        prop_assert_eq!(records.len(), if named { w.hops } else { 1 });
        for (hop, r) in records.iter().enumerate() {
            let node = w.value(hop, 0x8000).map_or(0x63, |n| n as u32);
            prop_assert_eq!(r.node_id, node);
            let ports = w.value(hop, 0x4000).map(|p| p as u32);
            let ports2 = w.value(hop, 0x0200).map(|p| p as u32);
            prop_assert_eq!(r.ingress_port, ports.map(|p| p >> 16).or(ports2));
            prop_assert_eq!(r.egress_port, ports.map(|p| p & 0xffff).or(ports2.map(|p| p + 1)));
            prop_assert_eq!(r.hop_latency, w.value(hop, 0x2000).map(|l| l as u32));
            let queue = w.value(hop, 0x1000);
            prop_assert_eq!(r.queue_occupancy, queue.map(|q| q as u32));
            prop_assert_eq!(r.ingress_ts, w.value(hop, 0x0800));
            prop_assert_eq!(r.egress_ts, w.value(hop, 0x0400));
            let inner = parse_inner(&r.inner).unwrap();
            prop_assert_eq!((inner.dst_port, inner.tcp_seq, inner.payload_bytes), (5001, 7, 1000));
        }
        let left_out = records[0].hop.unwrap().left_out;
        prop_assert_eq!(usize::from(left_out), w.hops - records.len());
    }

    /// Any bytes in the packet, cut at any place.
    #[test]
    fn no_bytes_break_it(
        w in written(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0u8..8), 0..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut payload = hex("20000001 00000063 13000020 00000000 00000000");
        payload.extend(w.packet());
        for (at, bit) in flips {
            let at = at.index(payload.len());
            payload[at] ^= 1 << bit;
        }
        payload.truncate(cut.index(payload.len()));
        let _ = decode(&payload, |r| {
            let _ = parse_inner(&r.inner);
        });
    }
}

/// Headers of version 2.x for hops with node and queue only, then two hops.
const MD2: &str = "20000209 90000000 00000000 00000008 02000005 00000007 02000006";
/// Headers and hops of version 1.0.
const MD1: &str = "10000209 90000000 00000008 02000005 00000007 02000006";

/// A packet in a tunnel; `header` has the bytes after the outer IPv4 header.
fn in_tunnel(protocol: u8, header: &str) -> Vec<u8> {
    const INNER: &str = "45000030 00020000 40060000 0a000105 0a000206
        9c401389 00000007 00000009 50180000 00000000 0000000000000000";
    let header = hex(header);
    let total = 20 + header.len() as u16 + 48;
    let report = hex("20000001 00000008 14000020 00000000 00000000");
    let outer = hex(&format!(
        "4500{total:04x} 00010000 40{protocol:02x}0000 c0000201 c0000202"
    ));
    [report, outer, header, hex(INNER)].concat()
}

#[test]
fn stacks_in_headers_of_tunnels() {
    const MACS: &str = "020000000002 020000000001 0800";
    let udp = |port: u16, rest: &str| format!("c350{port:04x} 00000000 {rest}");
    for (name, protocol, header, stack_bytes) in [
        // Its number in 2.x, and the one before; IPv4 and Ethernet.
        (
            "gpe 2",
            17,
            udp(4790, &format!("0c000082 00000700 10070001 {MD2}")),
            32,
        ),
        (
            "gpe 2",
            17,
            udp(4790, &format!("0c000005 00000700 10078003 {MD2} {MACS}")),
            32,
        ),
        (
            "gpe 1",
            17,
            udp(4790, &format!("0c000082 00000700 01000701 {MD1}")),
            28,
        ),
        // Another INT header comes before it.
        (
            "gpe 2, second",
            17,
            udp(
                4790,
                &format!("0c000082 00000700 20010082 01020304 10070001 {MD2}"),
            ),
            32,
        ),
        (
            "geneve 2",
            17,
            udp(6081, &format!("08000800 00000700 01030107 {MD2}")),
            32,
        ),
        (
            "geneve 1",
            17,
            udp(6081, &format!("07006558 00000700 01038106 {MD1} {MACS}")),
            28,
        ),
        // Another option comes before it.
        (
            "geneve 2, second",
            17,
            udp(
                6081,
                &format!("0a000800 00000700 01020101 ffffffff 01030107 {MD2}"),
            ),
            32,
        ),
        ("gre", 47, format!("00004242 10070800 {MD2}"), 32),
        (
            "gre with a key",
            47,
            format!("20004242 00000009 18070800 {MD2}"),
            32,
        ),
    ] {
        let payload = in_tunnel(protocol, &header);
        let (count, found) = records(&payload);
        let of: Vec<_> = found
            .iter()
            .map(|r| (r.node_id, r.queue_occupancy))
            .collect();
        assert_eq!((count, of), (1, vec![(8, Some(5)), (7, Some(6))]), "{name}");
        let hop = found[1].hop.unwrap();
        assert_eq!(
            hop.carried_bytes,
            stack_bytes - 8,
            "{name}: on the first link"
        );
        let packet = parse_inner(&found[0].inner).unwrap();
        assert_eq!((packet.protocol, packet.dst_port), (6, 5001), "{name}");
        assert_eq!((packet.ip_bytes, packet.payload_bytes), (48, 8), "{name}");
        let header_bytes = 20 + hex(&header).len() as u32 - u32::from(stack_bytes);
        assert_eq!(packet.beyond_bytes, header_bytes, "{name}");
    }
}

#[test]
fn tunnels_without_a_stack_have_none() {
    let udp = |port: u16, rest: &str| format!("c350{port:04x} 00000000 {rest}");
    for (protocol, header) in [
        (17, udp(4790, "0c000001 00000700")),
        // For the destination, INT-MX, and a length that does not fit.
        (17, udp(4790, "0c000082 00000700 20010001 01020304")),
        (
            17,
            udp(4790, "0c000082 00000700 30020001 01020304 01020304"),
        ),
        (17, udp(4790, &format!("0c000082 00000700 10060001 {MD2}"))),
        (17, udp(6081, "02000800 00000700 01030201 00000009")),
        (17, udp(6081, &format!("08000800 00000700 01040107 {MD2}"))),
        (47, "00000800".to_owned()),
    ] {
        let payload = in_tunnel(protocol, &header);
        let (_, found) = records(&payload);
        assert_eq!(found.len(), 1, "{header}");
        assert!(found[0].hop.is_none(), "{header}");
    }
}
