// SPDX-License-Identifier: Apache-2.0
//! Compares the report as the P4 programs write it (p4src/build/report_layout.json, made from the
//! compiled program) with this codec, bit by bit.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::net::IpAddr;

use int_report::encode::encode;
use int_report::{InnerKind, decode, parse_inner};
use serde_json::Value;

const LAYOUT: &str = include_str!("../../../../p4src/build/report_layout.json");

type Values = BTreeMap<String, u128>;

/// Returns the names of the fields, with their offset and width in bits.
fn fields(payload: &Value) -> Vec<(String, usize, usize)> {
    let number = |f: &Value, key: &str| usize::try_from(f[key].as_u64().unwrap()).unwrap();
    payload["fields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| {
            let name = f["name"].as_str().unwrap().to_owned();
            (name, number(f, "offset_bits"), number(f, "bits"))
        })
        .collect()
}

fn put(bytes: &mut [u8], offset: usize, bits: usize, value: u128) {
    for i in 0..bits {
        let bit = (value >> (bits - 1 - i) & 1) as u8;
        let at = offset + i;
        bytes[at / 8] |= bit << (7 - at % 8);
    }
}

/// Values that the program writes into fields that are not of the packet, or that a well-formed
/// packet must have; all other fields get a pattern.
fn fixed(constants: &Value, way: &str, family: &str, transport: &str) -> Values {
    let dropped = way == "dropped";
    let (upper, family_upper) = (way.to_uppercase(), family.to_uppercase());
    let constant = |name: &str| u128::from(constants[name].as_u64().unwrap());
    let metadata = constant(&format!("METADATA_WORDS_{upper}"));
    let inner = constant(&format!("INNER_WORDS_{family_upper}"));
    let protocol = match transport {
        "tcp" => constant("IP_PROTOCOL_TCP"),
        "udp" => constant("IP_PROTOCOL_UDP"),
        _ => 1,
    };
    [
        ("report_group.version", constant("REPORT_VERSION")),
        ("report_main.report_type", constant("REPORT_TYPE_INT")),
        (
            "report_main.inner_type",
            constant(&format!("INNER_TYPE_{family_upper}")),
        ),
        (
            "report_main.length_words",
            constant("MAIN_CONTENTS_WORDS") + metadata + inner,
        ),
        ("report_main.metadata_length_words", metadata),
        ("report_main.dropped", u128::from(dropped)),
        ("report_main.congested", u128::from(dropped)),
        ("report_main.tracked", 1),
        ("report_main.intermediate", 0),
        ("report_main.reserved", 0),
        (
            "report_main.metadata_bits",
            constant(&format!("METADATA_BITS_{upper}")),
        ),
        ("report_main.domain", constant("REPORT_DOMAIN")),
        ("report_main.domain_bits", constant("REPORT_DOMAIN_BITS")),
        ("report_main.domain_status", 0),
        ("report_queue.queue_id", 3),
        ("report_drop.queue_id", 3),
        ("report_drop.pad", 0),
        ("report_domain.reserved", 0),
        ("ipv4.version", 4),
        ("ipv4.ihl", 5),
        ("ipv4.total_length_bytes", 1500),
        ("ipv4.fragment_offset", 0),
        ("ipv4.more_fragments", 0),
        ("ipv4.protocol", protocol),
        ("ipv6.version", 6),
        ("ipv6.payload_length_bytes", 1460),
        (
            "ipv6.next_header",
            if transport == "none" { 58 } else { protocol },
        ),
        ("tcp.data_offset", 5),
        ("report_pad.zero", 0),
        ("report_no_transport.zero", 0),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}

fn pattern(index: usize, bits: usize) -> u128 {
    let wide = (0..16).fold(0u128, |n, j| {
        n << 8 | ((37 * index + 11 * j + 1) as u128 & 0xff)
    });
    wide >> 3 & (u128::MAX >> (128 - bits))
}

#[test]
fn every_field_is_read_where_the_program_writes_it() {
    let layout: Value = serde_json::from_str(LAYOUT).unwrap();
    let payloads = layout["payloads"].as_object().unwrap();
    assert_eq!(payloads.len(), 12);
    for (kind, payload) in payloads {
        let words: Vec<&str> = kind.split(' ').collect();
        let (way, family, transport) = (words[0], words[1], words[2]);
        let fixed = fixed(&layout["constants"], way, family, transport);
        let bytes = usize::try_from(payload["bytes"].as_u64().unwrap()).unwrap();
        let mut data = vec![0; bytes];
        let mut values = Values::new();
        for (i, (name, offset, bits)) in fields(payload).into_iter().enumerate() {
            let value = fixed.get(&name).copied().unwrap_or(pattern(i, bits));
            put(&mut data, offset, bits, value);
            values.insert(name, value);
        }
        check(kind, &data, &values);
    }
}

fn check(kind: &str, data: &[u8], values: &Values) {
    let v = |name: &str| values[name];
    let some = |name: &str| values.get(name).copied();
    let mut count = 0;
    let decoded = decode(data, |r| {
        count += 1;
        assert_eq!(u128::from(r.version), v("report_group.version"), "{kind}");
        assert_eq!(u128::from(r.hw_id), v("report_group.hw_id"), "{kind}");
        assert_eq!(u128::from(r.sequence), v("report_group.sequence"), "{kind}");
        assert_eq!(u128::from(r.node_id), v("report_group.node_id"), "{kind}");
        assert_eq!(u128::from(r.dropped), v("report_main.dropped"), "{kind}");
        assert_eq!(
            u128::from(r.congested),
            v("report_main.congested"),
            "{kind}"
        );
        assert!(r.tracked, "{kind}");
        let read = [
            (r.ingress_port.map(u128::from), "report_ports.ingress_port"),
            (r.egress_port.map(u128::from), "report_ports.egress_port"),
            (r.queue_id.map(u128::from), "report_queue.queue_id"),
            (r.queue_occupancy.map(u128::from), "report_queue.occupancy"),
            (r.ingress_ts.map(u128::from), "report_ingress_time.time_ns"),
            (r.egress_ts.map(u128::from), "report_egress_time.time_ns"),
            (r.drop_reason.map(u128::from), "report_drop.reason"),
            (r.limit.map(u128::from), "report_domain.limit"),
            (
                r.sampling_shift.map(u128::from),
                "report_domain.sampling_shift",
            ),
            (r.policy_flags.map(u128::from), "report_domain.flags"),
        ];
        for (value, name) in read {
            assert_eq!(value, some(name), "{kind}: {name}");
        }
        let inner = parse_inner(&r.inner).unwrap();
        let ipv4 = kind.contains("ipv4");
        let ip = if ipv4 { "ipv4" } else { "ipv6" };
        let expected = if ipv4 {
            InnerKind::Ipv4
        } else {
            InnerKind::Ipv6
        };
        assert_eq!(r.inner.kind, expected, "{kind}");
        let address = |a: IpAddr| match a {
            IpAddr::V4(a) => u128::from(u32::from(a)),
            IpAddr::V6(a) => u128::from(a),
        };
        assert_eq!(address(inner.src), v(&format!("{ip}.src_addr")), "{kind}");
        assert_eq!(address(inner.dst), v(&format!("{ip}.dst_addr")), "{kind}");
        assert_eq!(u128::from(inner.ecn), v(&format!("{ip}.ecn")), "{kind}");
        assert_eq!(inner.ip_bytes, 1500, "{kind}");
        assert!(!inner.fragment, "{kind}");
        let transport = |tcp: &str, udp: &str| some(tcp).or(some(udp)).unwrap_or(0);
        let ports = (u128::from(inner.src_port), u128::from(inner.dst_port));
        assert_eq!(
            ports,
            (
                transport("tcp.src_port", "udp.src_port"),
                transport("tcp.dst_port", "udp.dst_port")
            ),
            "{kind}"
        );
        for (value, name) in [
            (u128::from(inner.tcp_seq), "tcp.sequence"),
            (u128::from(inner.tcp_ack), "tcp.acknowledgement"),
            (u128::from(inner.tcp_flags), "tcp.flags"),
        ] {
            assert_eq!(value, some(name).unwrap_or(0), "{kind}: {name}");
        }
        // And back.
        assert_eq!(encode(&[*r]).unwrap(), data, "{kind}");
    })
    .unwrap();
    assert_eq!((decoded, count), (1, 1), "{kind}");
}
