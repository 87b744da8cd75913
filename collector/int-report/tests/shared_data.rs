// SPDX-License-Identifier: Apache-2.0
//! All simulated data sets of the shared folder, when it is there.
#![allow(clippy::unwrap_used)]

use std::io::Read;
use std::path::{Path, PathBuf};

use int_report::sequence::{StreamConfig, StreamKey, StreamTable};
use int_report::{InnerKind, decode, parse_inner, peek_header};

fn runs() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/ns3");
    let Ok(entries) = std::fs::read_dir(&root) else {
        eprintln!("SKIPPED: no ../shared (looked for {})", root.display());
        return Vec::new();
    };
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// UDP payloads of a classic little-endian pcap of Ethernet/IPv4/UDP.
fn payloads(pcap: &[u8]) -> impl Iterator<Item = &[u8]> {
    let word = |at: usize| u32::from_le_bytes(pcap[at..at + 4].try_into().unwrap()) as usize;
    let mut at = 24;
    std::iter::from_fn(move || {
        if at >= pcap.len() {
            return None;
        }
        let length = word(at + 8);
        let frame = &pcap[at + 16..at + 16 + length];
        at += 16 + length;
        let udp_bytes = usize::from(u16::from_be_bytes([frame[38], frame[39]]));
        Some(&frame[42..34 + udp_bytes])
    })
}

fn number(truth: &str, key: &str) -> u64 {
    let rest = truth
        .split(&format!("\"{key}\":"))
        .nth(1)
        .unwrap()
        .trim_start();
    rest.split(|c: char| !c.is_ascii_digit())
        .next()
        .unwrap()
        .parse()
        .unwrap()
}

#[test]
fn every_report_decodes_and_the_losses_are_found() {
    for run in runs() {
        let mut pcap = Vec::new();
        let file = std::fs::File::open(run.join("reports.pcap.gz")).unwrap();
        flate2::read::GzDecoder::new(file)
            .read_to_end(&mut pcap)
            .unwrap();
        let truth = std::fs::read_to_string(run.join("truth.json")).unwrap();
        let mut streams = StreamTable::new(StreamConfig::default(), 16);
        let (mut reports, mut drops) = (0, 0);
        for payload in payloads(&pcap) {
            let header = peek_header(payload).unwrap();
            let key = StreamKey::new([192, 0, 2, 10].into(), &header);
            streams.observe(key, header.sequence, None).unwrap();
            reports += decode(payload, |report| {
                assert_eq!(report.inner.kind, InnerKind::Ipv4);
                let packet = parse_inner(&report.inner).unwrap();
                assert!(packet.ip_bytes >= 28 && packet.src_port > 0);
                assert_eq!((report.node_id, report.egress_port), (10, Some(1)));
                assert!(report.queue_occupancy <= report.limit);
                assert_eq!(report.egress_ts.is_none(), report.dropped);
                drops += u64::from(report.dropped);
            })
            .unwrap() as u64;
        }
        let (sent, lost) = (
            number(&truth, "reports_sent"),
            number(&truth, "reports_lost"),
        );
        let counts = streams.total();
        assert_eq!(counts.lost, lost, "{}", run.display());
        assert_eq!(reports + lost, sent, "{}", run.display());
        assert_eq!((counts.late, counts.duplicate, counts.restarts), (0, 0, 0));
        assert!(drops > 0);
    }
}
