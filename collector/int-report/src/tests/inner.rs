// SPDX-License-Identifier: Apache-2.0
use super::hex;
use crate::{Inner, InnerError, InnerKind, InnerPacket, parse_inner};

const TCP: &str = "9c401389 00000001 00000002 50d82000 00000000";

fn parse(kind: InnerKind, text: &str) -> Result<InnerPacket, InnerError> {
    parse_inner(&Inner::new(&hex(text), kind))
}

#[test]
fn ipv4_with_options_and_tcp_options() {
    // 8 bytes of IP options, data offset 8 words, ECN 3, total length 100.
    let packet = parse(
        InnerKind::Ipv4,
        "47030064 00004000 40060000 0a000001 0a000002 01010101 01010101
         9c401389 00000001 00000002 80182000 00000000",
    )
    .unwrap();
    assert_eq!(
        (packet.ip_bytes, packet.payload_bytes, packet.ecn),
        (100, 100 - 28 - 32, 3)
    );
    assert_eq!(
        (packet.src_port, packet.dst_port, packet.tcp_flags),
        (40000, 5001, 0x18)
    );
}

#[test]
fn ethernet_with_vlan_tags_and_without() {
    let ip = format!("45000028 00004000 40060000 0a000001 0a000002 {TCP}");
    for tags in [
        "",
        "8100 0005",
        "88a8 0005 8100 0006",
        "81000005 81000005 81000005",
    ] {
        let packet = parse(
            InnerKind::Ethernet,
            &format!("000000000001 000000000002 {tags} 0800 {ip}"),
        );
        assert_eq!(packet.unwrap().payload_bytes, 0, "tags {tags:?}");
    }
    let arp = parse(InnerKind::Ethernet, "000000000001 000000000002 0806 0001");
    assert_eq!(arp, Err(InnerError::NotIp { ethertype: 0x0806 }));
}

#[test]
fn ipv4_fragments() {
    // First fragment: ports are there.
    let first = parse(
        InnerKind::Ipv4,
        &format!("450005dc 00002000 40060000 0a000001 0a000002 {TCP}"),
    )
    .unwrap();
    assert!(first.fragment);
    assert_eq!((first.src_port, first.payload_bytes), (40000, 1460));
    // A later one: the bytes after the IP header are payload.
    let later = parse(
        InnerKind::Ipv4,
        &format!("450005dc 000000b9 40060000 0a000001 0a000002 {TCP}"),
    )
    .unwrap();
    assert!(later.fragment);
    assert_eq!(
        (later.src_port, later.tcp_seq, later.payload_bytes),
        (0, 0, 1480)
    );
    // Don't-fragment alone is no fragment.
    let whole = parse(
        InnerKind::Ipv4,
        &format!("450005dc 00004000 40060000 0a000001 0a000002 {TCP}"),
    )
    .unwrap();
    assert!(!whole.fragment);
}

const V6: &str = "20010db8000000000000000000000001 20010db8000000000000000000000002";

#[test]
fn ipv6_tcp() {
    // Traffic class 2 (ECT(0)), payload length 1020.
    let packet = parse(InnerKind::Ipv6, &format!("60200000 03fc0640 {V6} {TCP}")).unwrap();
    assert_eq!(
        (packet.ip_bytes, packet.payload_bytes, packet.ecn),
        (1060, 1000, 2)
    );
    assert_eq!(
        packet.flow_key().to_string(),
        "[2001:db8::1]:40000 > [2001:db8::2]:5001 proto 6"
    );
}

#[test]
fn ipv6_extension_headers_and_fragments() {
    // Hop-by-hop (8 bytes), destination options (16 bytes), UDP.
    let packet = parse(
        InnerKind::Ipv6,
        &format!(
            "60000000 00400040 {V6} 3c00010400000000
             11010000 00000000 00000000 00000000 03e807d0 00280000"
        ),
    )
    .unwrap();
    assert_eq!((packet.protocol, packet.payload_bytes), (17, 64 - 24 - 8));
    assert!(!packet.fragment);
    // A later fragment.
    let later = parse(
        InnerKind::Ipv6,
        &format!("60000000 00402c40 {V6} 110005a800000001 deadbeef"),
    )
    .unwrap();
    assert!(later.fragment);
    assert_eq!(
        (later.protocol, later.src_port, later.payload_bytes),
        (17, 0, 56)
    );
    // An atomic fragment is whole.
    let atomic = parse(
        InnerKind::Ipv6,
        &format!("60000000 00402c40 {V6} 1100000000000001 03e807d0 00380000"),
    )
    .unwrap();
    assert!(!atomic.fragment);
    assert_eq!((atomic.dst_port, atomic.payload_bytes), (2000, 48));
    // No end of headers.
    let endless = format!("60000000 ffff0040 {V6} {}", "0000000000000000".repeat(20));
    assert_eq!(
        parse(InnerKind::Ipv6, &endless),
        Err(InnerError::TooManyExtensions { max: 8 })
    );
}

#[test]
fn other_protocols_have_no_ports() {
    let icmp = parse(
        InnerKind::Ipv4,
        "45000054 00000000 40010000 0a000001 0a000002",
    )
    .unwrap();
    assert_eq!(
        (icmp.protocol, icmp.src_port, icmp.payload_bytes),
        (1, 0, 64)
    );
}

#[test]
fn every_cut_is_an_error_and_not_a_guess() {
    let whole = hex(&format!(
        "450005dc 00004000 40060000 0a000001 0a000002 {TCP}"
    ));
    for length in 0..whole.len() {
        let inner = Inner::new(&whole[..length], InnerKind::Ipv4);
        let result = parse_inner(&inner);
        // Ports, numbers, data offset and flags are there from 34 bytes on.
        match length {
            0..20 => assert_eq!(
                result,
                Err(InnerError::Short {
                    layer: "IPv4",
                    have_bytes: length
                })
            ),
            20..34 => assert_eq!(
                result,
                Err(InnerError::Short {
                    layer: "TCP",
                    have_bytes: length - 20
                })
            ),
            _ => assert_eq!(result.unwrap().payload_bytes, 1460),
        }
    }
}

#[test]
fn impossible_lengths_and_versions() {
    let bad = [
        // Header length 16, total below the header, data offset 4, total below the headers.
        "44000028 00004000 40060000 0a000001 0a000002 9c401389 00000001 00000002 50102000 0",
        "45000010 00004000 40060000 0a000001 0a000002 9c401389 00000001 00000002 50102000 0",
        "45000028 00004000 40060000 0a000001 0a000002 9c401389 00000001 00000002 40102000 0",
        "45000028 00004000 40060000 0a000001 0a000002 9c401389 00000001 00000002 60102000 0",
        "4500001a 00004000 40110000 0a000001 0a000002 9c401389 00000001 00000002 60102000 0",
    ];
    for text in bad {
        let result = parse(InnerKind::Ipv4, &format!("{text}0000000"));
        assert_eq!(
            result.map_err(|e| InnerError::LABELS[e.index()]),
            Err("bad_length"),
            "{text}"
        );
    }
    assert_eq!(
        parse(InnerKind::Ipv4, &format!("60200000 03fc0640 {V6}")),
        Err(InnerError::WrongVersion {
            version: 6,
            expected: 4
        })
    );
    assert_eq!(parse(InnerKind::None, ""), Err(InnerError::NoPacket));
    assert_eq!(parse(InnerKind::Opaque, "00"), Err(InnerError::NotAPacket));
}

/// Labels, sessions and tunnels, as a report cuts them: flow and payload are of the inner packet,
/// the length on the wire is of the outer packet.
#[test]
fn what_is_within() {
    let tcp = format!("450005dc 00004000 40060000 0a000001 0a000002 {TCP}");
    let macs = "000000000001 000000000002";
    let udp =
        |port: &str| format!("4500060e 00000000 40110000 c0a80001 c0a80002 0001{port} 05fa0000");
    let cases = [
        (
            InnerKind::Ethernet,
            format!("{macs} 8847 00064140 {tcp}"),
            0,
        ),
        (
            InnerKind::Ethernet,
            format!("{macs} 8864 11000007 05de 0021 {tcp}"),
            0,
        ),
        (
            InnerKind::Ipv4,
            format!("450005f0 00000000 40040000 c0a80001 c0a80002 {tcp}"),
            20,
        ),
        (
            InnerKind::Ipv4,
            format!("450005f4 00000000 402f0000 c0a80001 c0a80002 00000800 {tcp}"),
            24,
        ),
        (
            InnerKind::Ipv4,
            format!("{} 08000000 00000700 {macs} 0800 {tcp}", udp("12b5")),
            50,
        ),
        (
            InnerKind::Ipv4,
            format!("{} 00006558 00000700 {macs} 0800 {tcp}", udp("17c1")),
            50,
        ),
        (
            InnerKind::Ipv4,
            format!("{} 30ff05dc 00000001 {tcp}", udp("0868")),
            50,
        ),
    ];
    for (kind, text, beyond) in cases {
        let packet = parse(kind, &text).unwrap();
        let flow = (packet.src_port, packet.dst_port, packet.protocol);
        assert_eq!(flow, (40000, 5001, 6), "{text}");
        assert_eq!(
            (packet.ip_bytes, packet.beyond_bytes, packet.payload_bytes),
            (1500, beyond, 1460),
            "{text}"
        );
    }
    // Cut before the inner packet: the outer packet.
    let cut = parse(
        InnerKind::Ipv4,
        &format!("{} 08000000 00000700 {macs}", udp("12b5")),
    )
    .unwrap();
    assert_eq!((cut.dst_port, cut.protocol), (4789, 17));
}

/// IS-IS and spanning tree have no EtherType: a length and an LLC header instead.
#[test]
fn a_report_of_a_frame_with_llc_is_one() {
    for llc in ["fefe03 83", "424203 00"] {
        let report = format!(
            "02200001 00000005 00000064 00000001 00010002 00000064 000000c8
             0180c2000014 020000000001 0030 {llc} 00000000 00000000"
        );
        let payload = super::hex(&report);
        let mut seen = None;
        crate::decode(&payload, |r| seen = Some(*r)).unwrap();
        let error = parse_inner(&seen.unwrap().inner).unwrap_err();
        assert!(matches!(error, InnerError::NotIp { .. }), "{error}");
    }
}
