// SPDX-License-Identifier: Apache-2.0
use super::{all, hex, old_encoder};
use crate::{DecodeError, Inner, InnerKind, Report, decode, peek_header};

const ETHERNET_UDP: &str = "000000000001 000000000002 0800
    4500002c 00004000 401100bf 0a000101 0a000202 03e807d0 00180000";

#[test]
fn v1_with_every_optional_word() {
    // Length 10 words, IPv4, six bits, D Q F, hw_id 5.
    let payload = hex("1a3f81c5 00000007 fffffffe 00000064
        00030004 00000032 02000040 000000c8 02470000 00000010
        45000014 00000000 40fd0000 0a000001 0a000002");
    let reports = all(&payload).unwrap();
    assert_eq!(
        reports[0],
        Report {
            version: 1,
            node_id: 7,
            hw_id: 5,
            sequence: 0xffff_fffe,
            sequence_bits: 32,
            dropped: true,
            congested: true,
            tracked: true,
            ingress_port: Some(3),
            egress_port: Some(4),
            queue_id: Some(2),
            queue_occupancy: Some(64),
            ingress_ts: Some(100),
            hop_latency: Some(50),
            egress_ts: Some(200),
            drop_reason: Some(71),
            inner: Inner::new(&payload[40..], InnerKind::Ipv4),
            first_in_datagram: true,
            ..Report::default()
        }
    );
}

#[test]
fn v1_skips_what_the_length_holds_beyond_the_known_words() {
    let payload = hex("15200045 00000007 00000001 00000064 deadbeef 45000014");
    let reports = all(&payload).unwrap();
    assert_eq!(reports[0].inner.packet, [0x45, 0, 0, 0x14]);
    assert_eq!(reports[0].inner.kind, InnerKind::Ipv4);
    assert!(reports[0].tracked && !reports[0].congested);
}

#[test]
fn v1_lengths_are_checked() {
    let too_small = hex("13000000 00000007 00000001 00000064");
    assert_eq!(
        all(&too_small),
        Err(DecodeError::BadHeaderLength { words: 3 })
    );
    let cut = hex("15200000 00000007 00000001 00000064");
    assert_eq!(
        all(&cut),
        Err(DecodeError::ShortHeader {
            have_bytes: 16,
            need_bytes: 20
        })
    );
    let bits_beyond = hex("14100000 00000007 00000001 00000064");
    assert_eq!(
        all(&bits_beyond),
        Err(DecodeError::MetadataTooShort { offset: 0 })
    );
    let protocol = hex("14e00000 00000007 00000001 00000064");
    assert_eq!(
        all(&protocol),
        Err(DecodeError::UnknownNextProtocol {
            version: 1,
            code: 7
        })
    );
}

#[test]
fn v0_5_switch_local() {
    // NProto 2, F, hw_id 3.
    let payload = hex(&format!(
        "02200003 00000009 000003e8 0000000b 00010002 05000064 000007d0 {ETHERNET_UDP}"
    ));
    let reports = all(&payload).unwrap();
    assert_eq!(
        reports[0],
        Report {
            version: 0,
            node_id: 11,
            hw_id: 3,
            sequence: 9,
            sequence_bits: 32,
            tracked: true,
            ingress_port: Some(1),
            egress_port: Some(2),
            queue_id: Some(5),
            queue_occupancy: Some(100),
            ingress_ts: Some(1000),
            egress_ts: Some(2000),
            inner: Inner::new(&payload[28..], InnerKind::Ethernet),
            first_in_datagram: true,
            ..Report::default()
        }
    );
    assert_eq!(old_encoder::v0_5(&reports[0]).unwrap(), payload);
    let inner = crate::parse_inner(&reports[0].inner).unwrap();
    assert_eq!(
        inner.flow_key().to_string(),
        "10.0.1.1:1000 > 10.0.2.2:2000 proto 17"
    );
    assert_eq!(inner.payload_bytes, 16);
}

#[test]
fn v0_5_drop() {
    let payload = hex(&format!(
        "01a00003 00000009 000003e8 0000000b 00010000 05470000 {ETHERNET_UDP}"
    ));
    let reports = all(&payload).unwrap();
    assert!(reports[0].dropped && reports[0].tracked);
    assert_eq!(reports[0].drop_reason, Some(71));
    assert_eq!(reports[0].queue_id, Some(5));
    assert_eq!(reports[0].egress_port, Some(0));
    assert_eq!(reports[0].egress_ts, None);
    assert_eq!(old_encoder::v0_5(&reports[0]).unwrap(), payload);
}

#[test]
fn v0_5_without_a_body_and_with_extensions() {
    let bare = hex("00200001 00000002 00000003 aabb");
    assert_eq!(all(&bare).unwrap()[0].inner.packet, [0xaa, 0xbb]);
    // Without a flag and without a packet, nothing shows that it is a report.
    let other = hex("00000001 00000002 00000003 aabb");
    assert!(matches!(all(&other), Err(DecodeError::NotAReport { .. })));
    let sink = hex("04000001 00000002 00000003 0000004d 45");
    let reports = all(&sink).unwrap();
    assert_eq!(
        (reports[0].node_id, reports[0].inner.kind),
        (77, InnerKind::Ipv4)
    );
    let unknown = hex("05000001 00000002 00000003 0000004d");
    assert_eq!(
        all(&unknown),
        Err(DecodeError::UnknownNextProtocol {
            version: 0,
            code: 5
        })
    );
    let cut = hex("02000001 00000002 00000003 0000004d 0001");
    assert_eq!(
        all(&cut),
        Err(DecodeError::ShortHeader {
            have_bytes: 18,
            need_bytes: 28
        })
    );
}

#[test]
fn v0_5_drop_summary() {
    // D, NProto 3: source node 4, sink node 77, ports 1 and 2, gap at 900 of 12
    // packets from 33 on.
    let payload = hex(
        "03800001 00000002 00000003 00000004 0000004d 00010002 00000384 00000021 0000000c
        4500001c 00004000 401100bf 0a000101 0a000202 03e807d0 00080000",
    );
    let reports = all(&payload).unwrap();
    let r = &reports[0];
    assert_eq!(
        (r.node_id, r.summary_drops, r.dropped),
        (77, Some(12), true)
    );
    assert_eq!((r.ingress_port, r.egress_port), (Some(1), Some(2)));
    assert_eq!((r.ingress_ts, r.drop_reason), (Some(900), None));
    let inner = crate::parse_inner(&r.inner).unwrap();
    assert_eq!(
        inner.flow_key().to_string(),
        "10.0.1.1:1000 > 10.0.2.2:2000 proto 17"
    );
    assert_eq!(peek_header(&payload).unwrap().node_id, 77);
    assert_eq!(
        all(&payload[..32]),
        Err(DecodeError::ShortHeader {
            have_bytes: 32,
            need_bytes: 36
        })
    );
}

#[test]
fn the_header_alone_can_be_read() {
    let v2 = peek_header(&hex("20400005 0000000a")).unwrap();
    assert_eq!(
        (v2.version, v2.node_id, v2.hw_id, v2.sequence),
        (2, 10, 1, 5)
    );
    let v1 = peek_header(&hex("14000045 00000007 00000001")).unwrap();
    assert_eq!(
        (v1.version, v1.node_id, v1.hw_id, v1.sequence),
        (1, 7, 5, 1)
    );
    let v0 = peek_header(&hex("02200003 00000009 000003e8 0000000b")).unwrap();
    assert_eq!(
        (v0.version, v0.node_id, v0.hw_id, v0.sequence),
        (0, 11, 3, 9)
    );
    assert_eq!(peek_header(&hex("30000000 00000000")), None);
    assert_eq!(peek_header(&[0x20, 0, 0]), None);
}

/// First bytes of other protocols' datagrams that also come to the ports of reports.
#[test]
fn other_protocols_are_no_reports() {
    let others = [
        (
            "sFlow 5",
            "00000005 00000001 c6120001 00000000 0000002a 000f4240 00000001 00000001 00000088 00000001 00000007",
        ),
        (
            "NetFlow 5",
            "00050001 000003e8 5f5e1000 00000000 0000002a 00000000 0a000001 0a000002 00000000 00010002 00000001",
        ),
        (
            "NetFlow 9",
            "00090001 000003e8 5f5e1000 0000002a 00000000 00000048 01000010 00080004 000c0004 00070002 000b0002",
        ),
        (
            "IPFIX",
            "000a0040 5f5e1000 0000002a 00000007 00020030 01000008 00080004 000c0004 00070002 000b0002 00040001",
        ),
        (
            "DNS",
            "14230100 00010000 00000000 03777777 07657861 6d706c65 03636f6d 00000100 01",
        ),
        (
            "DNS",
            "24230100 00010000 00000000 03777777 07657861 6d706c65 03636f6d 00000100 01",
        ),
        (
            "DNS",
            "02208180 00010001 00000000 03777777 07657861 6d706c65 03636f6d 00000100 01",
        ),
        (
            "mDNS",
            "00000000 00010000 00000000 055f6874 7470045f 74637005 6c6f6361 6c00000c 0001",
        ),
        (
            "DHCP",
            "01010600 3903f326 00000000 00000000 00000000 00000000 00000000 000c29aa bbcc0000 00000000 00000000",
        ),
        (
            "DHCP",
            "02010600 3903f326 00000000 00000000 0a000002 0a000001 00000000 000c29aa bbcc0000 00000000 00000000",
        ),
        (
            "NTP 3, a client",
            "1b000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 e8d4a510 00000000",
        ),
        (
            "WireGuard",
            "01000000 7a5b3c1d 00112233 44556677 8899aabb ccddeeff 00112233 44556677 8899aabb ccddeeff 00112233 44556677",
        ),
        (
            "PTP over 802.1AS",
            "1802002c 00000200 00000000 00000000 00000000 020000ff fe000001 00010001 00050000 00000000 00000000 0102030405060708",
        ),
        (
            "RADIUS",
            "0180002c 00112233 44556677 8899aabb ccddeeff 0106616c 69636500 02120011 22334455 66778899 aabbccdd eeff0011",
        ),
        (
            "TZSP",
            "01000001 01020000 00000202 00000000 01080045 00002800 01000040 060000 0a000101 0a000202 9c401389 00000000 00000000",
        ),
        (
            "NTP",
            "23020aec 00000b6c 00000d4e c0a80101 e8d4a510 00000000 e8d4a510 00000000 e8d4a510 00000000 e8d4a510",
        ),
        (
            "SNMP",
            "30290201 01040670 75626c69 63a01c02 04000000 01020100 02010030 0e300c06 082b0601 02010101 000500",
        ),
        (
            "syslog",
            "3c33343e 4f637420 31312032 323a3134 3a313520 6d796d61 6368696e 65207375 3a206661 696c6564",
        ),
        (
            "RADIUS",
            "01050040 00112233 44556677 8899aabb ccddeeff 01067573 65720212 00112233 44556677 8899aabb ccdd",
        ),
        ("STUN", "00010000 2112a442 00112233 44556677 8899aabb"),
        ("TFTP", "00016669 6c652e62 696e006f 63746574 00"),
    ];
    for (name, bytes) in others {
        let bytes = hex(bytes);
        let mut seen = 0;
        let result = decode(&bytes, |_| seen += 1);
        assert!(result.is_err() && seen == 0, "{name}: {result:?}, {seen}");
    }
}
