// SPDX-License-Identifier: Apache-2.0
//! Lengths, skipping and refusal in version 2.
use super::{all, hex};
use crate::{DecodeError, InnerKind};

const GROUP: &str = "20000001 00000001";

fn one(report: &str) -> Vec<u8> {
    hex(&format!("{GROUP} {report}"))
}

#[test]
fn length_0xff_runs_to_the_end() {
    let mut payload = one("14ff0120 40000000 00000000 00010002");
    payload.extend(vec![0x45; 1200]);
    let reports = all(&payload).unwrap();
    assert_eq!(reports.len(), 1);
    assert_eq!(reports[0].inner.packet.len(), 1200);
}

#[test]
fn up_to_three_trailing_bytes_belong_to_the_last_packet() {
    for extra in 0..=3usize {
        let mut payload = one("14040120 40000000 00000000 00010002 45000014");
        payload.extend(vec![7; extra]);
        let reports = all(&payload).unwrap();
        assert_eq!(reports.len(), 1);
        assert_eq!(reports[0].inner.packet.len(), 4 + extra);
    }
}

#[test]
fn reserved_bits_and_unknown_domains_are_skipped() {
    // Bits 0, 1, 2, 7, 8, 9..14 and 15; domain 0x1234 with three words.
    let payload = one("140e0e20 e1ff1234 ffff0000
        11111111 00010002 22222222 33333333 44444444
        55555551 55555552 55555553 55555554 55555555 55555556 09470000
        aaaaaaa1 aaaaaaa2");
    assert!(
        all(&payload).is_err(),
        "report length too small for its metadata"
    );
    let payload = one("14110e20 e1ff1234 ffff0000
        11111111 00010002 22222222 33333333 44444444
        55555551 55555552 55555553 55555554 55555555 55555556 09470000
        aaaaaaa1 aaaaaaa2 45000014");
    let reports = all(&payload).unwrap();
    let report = reports[0];
    assert_eq!(
        (report.ingress_port, report.egress_port),
        (Some(1), Some(2))
    );
    assert_eq!((report.queue_id, report.drop_reason), (Some(9), Some(71)));
    assert_eq!(report.limit, None);
    assert_eq!(report.inner.packet, [0x45, 0, 0, 0x14]);
}

#[test]
fn level_2_interfaces_stand_in_for_missing_level_1() {
    let payload = one("10040220 02000000 00000000 00010000 00000007");
    let report = all(&payload).unwrap()[0];
    assert_eq!(
        (report.ingress_port, report.egress_port),
        (Some(65536), Some(7))
    );
    let payload = one("10050320 42000000 00000000 00030004 00010000 00000007");
    let report = all(&payload).unwrap()[0];
    assert_eq!(
        (report.ingress_port, report.egress_port),
        (Some(3), Some(4))
    );
}

#[test]
fn all_ones_is_not_available() {
    let payload = one("10080620 5c000000 00000000 0001ffff ffffffff
        ffffffffffffffff 0000000000000005");
    let report = all(&payload).unwrap()[0];
    assert_eq!((report.ingress_port, report.egress_port), (Some(1), None));
    assert_eq!((report.queue_id, report.queue_occupancy), (None, None));
    assert_eq!((report.ingress_ts, report.egress_ts), (None, Some(5)));
}

#[test]
fn report_types_and_inner_types() {
    // Inner only, Ethernet.
    let payload = one("03010020 aabbccdd");
    let report = all(&payload).unwrap()[0];
    assert_eq!(report.inner.kind, InnerKind::Ethernet);
    assert_eq!(report.inner.packet, [0xaa, 0xbb, 0xcc, 0xdd]);
    // IOAM, then a known report.
    let payload = one("2401ff20 aabbccdd 10020020 00000000 00000000");
    let reports = all(&payload).unwrap();
    assert_eq!(reports.len(), 2);
    assert_eq!(reports[0].inner.kind, InnerKind::Opaque);
    assert_eq!(reports[1].inner.kind, InnerKind::None);
    // TLVs: domain data, then IPv4.
    let payload = one("11060020 00000000 00000000 00010001 deadbeef 20010000 45000014");
    let report = all(&payload).unwrap()[0];
    assert_eq!(report.inner.kind, InnerKind::Ipv4);
    assert_eq!(report.inner.packet, [0x45, 0, 0, 0x14]);
}

#[test]
fn each_defect_has_its_reason() {
    let cases: [(&str, &str, &str); 7] = [
        ("", "", "empty"),
        ("30000000 00000000", "", "unknown_version"),
        ("20000000 000000", "", "short_header"),
        (GROUP, "", "no_report"),
        (GROUP, "14050000 00000000 00000000", "report_beyond_end"),
        (GROUP, "14010000 00000000", "short_report"),
        (
            GROUP,
            "14030200 00000000 00000000 00000000",
            "metadata_beyond_report",
        ),
    ];
    for (group, report, label) in cases {
        let payload = hex(&format!("{group}{report}"));
        assert_eq!(
            all(&payload).map_err(|e| DecodeError::LABELS[e.index()]),
            Err(label),
            "{group} {report}"
        );
    }
    let short_metadata = one("14030120 48000000 00000000 00010002");
    assert_eq!(
        all(&short_metadata),
        Err(DecodeError::MetadataTooShort { offset: 8 })
    );
    let short_domain = one("14030120 4000544d 80000000 00010002");
    assert_eq!(
        all(&short_domain).map_err(|e| DecodeError::LABELS[e.index()]),
        Err("metadata_too_short")
    );
}

#[test]
fn reports_before_a_defect_are_delivered() {
    let payload = one("10020020 00000000 00000000 10ee0020 00000000");
    let mut seen = 0;
    let result = crate::decode(&payload, |_| seen += 1);
    assert_eq!(seen, 1);
    assert_eq!(
        result,
        Err(DecodeError::ReportBeyondEnd {
            offset: 20,
            end: 24 + 4 * 0xee
        })
    );
}

#[test]
fn labels_match_their_positions() {
    let errors = [
        DecodeError::Empty,
        DecodeError::UnknownVersion { version: 9 },
        DecodeError::ShortHeader {
            have_bytes: 0,
            need_bytes: 0,
        },
        DecodeError::NoReport,
        DecodeError::ReportBeyondEnd { offset: 0, end: 0 },
        DecodeError::ShortReport { offset: 0 },
        DecodeError::MetadataBeyondReport { offset: 0 },
        DecodeError::MetadataTooShort { offset: 0 },
        DecodeError::BadHeaderLength { words: 0 },
        DecodeError::UnknownNextProtocol {
            version: 0,
            code: 0,
        },
        DecodeError::NotAReport { what: "" },
    ];
    for (position, error) in errors.iter().enumerate() {
        assert_eq!(error.index(), position);
    }
    assert_eq!(errors.len(), DecodeError::LABELS.len());
}
