// SPDX-License-Identifier: Apache-2.0
//! Vectors checked against independent decoders.
use super::{all, hex};
use crate::{InnerKind, Report, encode::encode, parse_inner};

pub(super) const INNER: &str = "450005dc 12344000 3f060ce6 0a000101 0a000202
    9c401389 01020304 0a0b0c0d 50102000 00000000";
pub(super) const A: &str =
    "14120660 5c000000 00000000 00010002 00000040 000000003b9aca00 000000003b9b9200";
pub(super) const B: &str = "14100480 48010000 00000000 00010002 000000003b9bb460 00470000";
pub(super) const C: &str = "14130760 5c000001 80000000 00010002 00000040 000000003b9aca00
    000000003b9b9200 00000064";

fn expected_a() -> Report<'static> {
    Report {
        version: 2,
        node_id: 10,
        hw_id: 1,
        sequence: 5,
        sequence_bits: 22,
        dropped: false,
        congested: true,
        tracked: true,
        ingress_port: Some(1),
        egress_port: Some(2),
        queue_id: Some(0),
        queue_occupancy: Some(64),
        ingress_ts: Some(1_000_000_000),
        egress_ts: Some(1_000_051_200),
        first_in_datagram: true,
        ..Report::default()
    }
}

fn expected_b() -> Report<'static> {
    Report {
        dropped: true,
        congested: false,
        tracked: false,
        sequence: 6,
        queue_occupancy: None,
        ingress_ts: Some(1_000_060_000),
        egress_ts: None,
        drop_reason: Some(71),
        ..expected_a()
    }
}

fn check(report: &Report<'_>, expected: Report<'static>) {
    let packet = hex(INNER);
    assert_eq!(report.inner.kind, InnerKind::Ipv4);
    assert_eq!(report.inner.packet, packet);
    let without = Report {
        inner: crate::Inner::default(),
        ..*report
    };
    assert_eq!(without, expected);
    let inner = parse_inner(&report.inner).unwrap();
    assert_eq!(
        inner.flow_key().to_string(),
        "10.0.1.1:40000 > 10.0.2.2:5001 proto 6"
    );
    assert_eq!((inner.ip_bytes, inner.payload_bytes), (1500, 1460));
    assert_eq!((inner.tcp_seq, inner.tcp_ack), (0x0102_0304, 0x0a0b_0c0d));
    assert_eq!(
        (inner.tcp_flags, inner.ecn, inner.fragment),
        (0x10, 0, false)
    );
}

#[test]
fn a_queue_report() {
    let payload = hex(&format!("20400005 0000000a {A} {INNER}"));
    let reports = all(&payload).unwrap();
    assert_eq!(reports.len(), 1);
    check(&reports[0], expected_a());
    assert_eq!(encode(&reports).unwrap(), payload);
}

#[test]
fn b_drop_report() {
    let payload = hex(&format!("20400006 0000000a {B} {INNER}"));
    let reports = all(&payload).unwrap();
    assert_eq!(reports.len(), 1);
    check(&reports[0], expected_b());
    assert_eq!(encode(&reports).unwrap(), payload);
}

#[test]
fn c_coalesced_with_an_unknown_domain() {
    let payload = hex(&format!("20400007 0000000a {C} {INNER} {B} {INNER}"));
    assert_eq!(payload.len(), 156);
    let reports = all(&payload).unwrap();
    assert_eq!(reports.len(), 2);
    // The domain 1 is not ours: skipped by length.
    check(
        &reports[0],
        Report {
            sequence: 7,
            ..expected_a()
        },
    );
    check(
        &reports[1],
        Report {
            sequence: 7,
            first_in_datagram: false,
            ..expected_b()
        },
    );
}

#[test]
fn tail_drop_with_q_instead_of_d_is_a_drop() {
    let payload = hex(&format!("20400006 0000000a 14100440 {} {INNER}", &B[9..]));
    let reports = all(&payload).unwrap();
    assert!(reports[0].dropped && reports[0].congested);
    assert_eq!(reports[0].drop_reason, Some(71));
}
