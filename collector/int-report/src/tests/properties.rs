// SPDX-License-Identifier: Apache-2.0
use proptest::option;
use proptest::prelude::*;

use super::{all, old_encoder};
use crate::encode::{EncodeError, encode};
use crate::{DecodeError, Inner, InnerKind, Report, parse_inner, peek_header};

/// Metadata of any report that version 2 can express.
fn v2_report() -> impl Strategy<Value = Report<'static>> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    let ports = (option::of(0..u32::MAX), option::of(0..0xffffu32));
    let queue = option::of((
        0..0xffu8,
        option::of(0..0x00ff_ffffu32),
        option::of(any::<u8>()),
    ));
    let times = (option::of(0..u64::MAX), option::of(0..u64::MAX));
    let domain = (
        option::of(any::<u32>()),
        option::of((any::<u8>(), any::<u8>())),
    );
    (flags, ports, queue, times, domain).prop_map(|(flags, ports, queue, times, domain)| {
        let mut report = Report {
            version: 2,
            sequence_bits: 22,
            dropped: flags.0,
            congested: flags.1,
            tracked: flags.2,
            ingress_port: ports.0,
            egress_port: ports.1,
            ingress_ts: times.0,
            egress_ts: times.1,
            limit: domain.0,
            sampling_shift: domain.1.map(|policy| policy.0),
            policy_flags: domain.1.map(|policy| policy.1),
            ..Report::default()
        };
        if let Some((id, depth, reason)) = queue
            && (depth.is_some() || reason.is_some())
        {
            report.queue_id = Some(id);
            report.queue_occupancy = depth;
            report.drop_reason = reason;
            report.dropped |= reason.is_some();
        }
        report
    })
}

fn kind() -> impl Strategy<Value = InnerKind> {
    prop_oneof![
        Just(InnerKind::Ethernet),
        Just(InnerKind::Ipv4),
        Just(InnerKind::Ipv6),
        Just(InnerKind::Opaque)
    ]
}

/// Makes bytes begin as a packet of a kind does.
fn packet_of(kind: InnerKind, mut bytes: Vec<u8>) -> Vec<u8> {
    let (at, begin): (usize, &[u8]) = match kind {
        InnerKind::Ethernet => (12, &[0x88, 0xb5]),
        InnerKind::Ipv4 => (0, &[0x45]),
        _ => (0, &[0x60]),
    };
    if let Some(place) = bytes.get_mut(at..at + begin.len()) {
        place.copy_from_slice(begin);
    }
    bytes
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(
        (hw_id, sequence, node_id) in (0u8..64, 0u32..0x40_0000, any::<u32>()),
        reports in prop::collection::vec(
            (v2_report(), kind(), prop::collection::vec(any::<u8>(), 4..120)), 1..12),
    ) {
        let reports: Vec<_> = reports
            .into_iter()
            .map(|(report, kind, packet)| (report, kind, packet_of(kind, packet)))
            .collect();
        let reports: Vec<Report<'_>> = reports
            .iter()
            .enumerate()
            .map(|(index, (report, kind, packet))| {
                // Packets before the last are padded: use whole words there.
                let end = if index + 1 == reports.len() { packet.len() } else { packet.len() / 4 * 4 };
                Report {
                    hw_id,
                    sequence,
                    node_id,
                    first_in_datagram: index == 0,
                    inner: Inner::new(&packet[..end], *kind),
                    ..*report
                }
            })
            .collect();
        let payload = encode(&reports).unwrap();
        prop_assert_eq!(all(&payload).unwrap(), reports);
        let header = peek_header(&payload).unwrap();
        prop_assert_eq!((header.node_id, header.hw_id, header.sequence), (node_id, hw_id, sequence));
    }

    #[test]
    fn v1_round_trip(
        report in v2_report(),
        ingress_ts in any::<u32>(),
        egress_ts in option::of(any::<u32>()),
        ids in (any::<u32>(), any::<u32>(), 0u8..64),
        ingress_port in option::of(0u32..0xffff),
        packet in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        let packet = packet_of(InnerKind::Ipv6, packet);
        let report = Report {
            version: 1,
            sequence_bits: 32,
            node_id: ids.0,
            sequence: ids.1,
            hw_id: ids.2,
            ingress_port,
            ingress_ts: Some(u64::from(ingress_ts)),
            egress_ts: egress_ts.map(u64::from),
            limit: None,
            sampling_shift: None,
            policy_flags: None,
            first_in_datagram: true,
            inner: Inner::new(&packet, InnerKind::Ipv6),
            ..report
        };
        let payload = old_encoder::v1(&report).unwrap();
        prop_assert_eq!(all(&payload).unwrap(), vec![report]);
        prop_assert_eq!(encode(&[report]), Err(EncodeError::Version { version: 1 }));
    }

    #[test]
    fn arbitrary_bytes_never_panic(payload in prop::collection::vec(any::<u8>(), 0..400)) {
        check_all(&payload)?;
    }

    #[test]
    fn damaged_reports_never_panic(
        report in v2_report(),
        packet in prop::collection::vec(any::<u8>(), 0..60),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let report = Report { inner: Inner::new(&packet, InnerKind::Ipv4), ..report };
        let mut payload = encode(&[report]).unwrap();
        for (place, value) in damage {
            let place = place.index(payload.len());
            payload[place] = value;
        }
        payload.truncate(cut.index(payload.len()) + 1);
        check_all(&payload)?;
    }
}

/// Decodes and parses; every inner packet lies within the payload.
fn check_all(payload: &[u8]) -> Result<(), TestCaseError> {
    let range = payload.as_ptr_range();
    let mut inside = true;
    let mut seen = 0;
    let result = crate::decode(payload, |report| {
        seen += 1;
        if !report.inner.packet.is_empty() {
            let inner = report.inner.packet.as_ptr_range();
            inside &= inner.start >= range.start && inner.end <= range.end;
        }
        for kind in [
            report.inner.kind,
            InnerKind::Ethernet,
            InnerKind::Ipv4,
            InnerKind::Ipv6,
        ] {
            let _ = parse_inner(&Inner {
                kind,
                ..report.inner
            });
        }
    });
    prop_assert!(inside);
    match result {
        Ok(count) => prop_assert!(count <= seen),
        Err(error) => prop_assert!(error.index() < DecodeError::LABELS.len()),
    }
    Ok(())
}
