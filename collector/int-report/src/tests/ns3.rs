// SPDX-License-Identifier: Apache-2.0
//! Records as a simulated switch sent them (see fixtures/README.md).
use super::{all, hex};
use crate::drop_reason::DropTable;
use crate::{InnerKind, Report, encode::encode, parse_inner};

fn fixture(name: &str) -> Vec<u8> {
    let text = include_str!("../../fixtures/reports.hex");
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
        .unwrap_or_else(|| panic!("no fixture {name}"));
    hex(line)
}

#[test]
fn tcp_postcard() {
    let payload = fixture("tcp");
    assert_eq!(payload.len(), 92);
    let reports = all(&payload).unwrap();
    let report = reports[0];
    assert_eq!(
        Report {
            inner: crate::Inner::default(),
            ..report
        },
        Report {
            version: 2,
            node_id: 10,
            hw_id: 0,
            sequence: 0,
            sequence_bits: 22,
            tracked: true,
            ingress_port: Some(2),
            egress_port: Some(1),
            queue_id: Some(0),
            queue_occupancy: Some(0),
            ingress_ts: Some(0x11f_78a0_d55a),
            egress_ts: Some(0x11f_78a0_d55a),
            limit: Some(904),
            sampling_shift: Some(0),
            policy_flags: Some(0),
            first_in_datagram: true,
            ..Report::default()
        }
    );
    let inner = parse_inner(&report.inner).unwrap();
    assert_eq!(
        inner.flow_key().to_string(),
        "10.1.22.2:49153 > 10.0.0.2:5025 proto 6"
    );
    assert_eq!(
        (inner.ip_bytes, inner.payload_bytes, inner.tcp_flags),
        (56, 0, 2)
    );
    assert_eq!(encode(&reports).unwrap(), payload);
}

#[test]
fn tcp_drop() {
    let payload = fixture("tcp_drop");
    assert_eq!(payload.len(), 88);
    let reports = all(&payload).unwrap();
    let report = reports[0];
    assert!(report.dropped && report.tracked && report.congested);
    assert_eq!(
        (report.queue_occupancy, report.limit),
        (Some(904), Some(904))
    );
    assert_eq!(report.egress_ts, None);
    assert_eq!(report.drop_reason, Some(71));
    assert!(DropTable::SwitchP416.is_queue_loss(71));
    let inner = parse_inner(&report.inner).unwrap();
    assert_eq!((inner.ip_bytes, inner.payload_bytes), (1500, 1448));
    assert_eq!(inner.tcp_seq, 0x003b_25c9);
    assert_eq!(encode(&reports).unwrap(), payload);
}

#[test]
fn udp_postcard_and_drop() {
    for (name, length) in [("udp", 80), ("udp_drop", 76)] {
        let payload = fixture(name);
        assert_eq!(payload.len(), length);
        let reports = all(&payload).unwrap();
        assert_eq!(reports[0].inner.kind, InnerKind::Ipv4);
        let inner = parse_inner(&reports[0].inner).unwrap();
        assert_eq!((inner.protocol, inner.payload_bytes), (17, 1472));
        assert_eq!(inner.dst_port, 9);
        assert_eq!(encode(&reports).unwrap(), payload);
    }
}
