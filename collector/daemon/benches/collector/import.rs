// SPDX-License-Identifier: Apache-2.0
//! Import of a pcap of reports.

use crate::data::{NODE, REPORT_BYTES, Recorded, recorded, template};
use crate::figure::{Row, per_core};
use std::io::BufWriter;
use std::path::Path;
use tidemark_collector::import::{ImportOptions, import};
use tidemark_pcap::{ETHERNET, Writer};

const FLOWS: u32 = 1000;
const REPORTS: u64 = 1_000_000;
/// Length of the headers of Ethernet, IPv4 and UDP.
pub(crate) const HEADERS: usize = 14 + 20 + 8;
const PORT: u16 = 32766;
/// Settings of the reports' switch port, for a node file.
pub(crate) const PORT_TABLE: &str = "capacity_bps = 10000000000";

/// Measures reading, decoding, flows and writing the capture, without a trace to join.
pub(crate) fn pcap() -> Row {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("reports.pcap");
    write_pcap(&file, &recorded(FLOWS, REPORTS));
    let nodes = dir.path().join("nodes.toml");
    std::fs::write(&nodes, format!("[nodes.{NODE}.ports.1]\n{PORT_TABLE}\n")).unwrap();
    let what = "import of a pcap into a capture, per core";
    Row::median(what, 3e6, || {
        let out = dir.path().join("capture");
        let rate = per_core(REPORTS, || {
            let report = import(&ImportOptions {
                pcap: file.clone(),
                nodes: Some(nodes.clone()),
                out: out.clone(),
                ..ImportOptions::default()
            })
            .unwrap();
            assert_eq!(report.pipeline.postcard_rows, REPORTS);
            assert_eq!(report.capture.rows_lost, 0);
        });
        std::fs::remove_dir_all(out).unwrap();
        rate
    })
}

/// Writes a pcap with one report per datagram, as a switch sends them.
fn write_pcap(path: &Path, data: &Recorded) {
    let out = BufWriter::new(std::fs::File::create(path).unwrap());
    let mut out = Writer::new(out, ETHERNET).unwrap();
    for (report, rx_ns) in data.reports.chunks(REPORT_BYTES).zip(&data.rx_ns) {
        let frame = [&headers()[..], report].concat();
        out.write(*rx_ns, &frame).unwrap();
    }
    out.finish().unwrap();
}

/// Returns the frame of a datagram with a report, to be patched.
pub(crate) fn frame() -> Vec<u8> {
    [&headers()[..], &template()].concat()
}

fn headers() -> [u8; HEADERS] {
    let mut h = [0; HEADERS];
    h[12] = 8;
    h[14] = 0x45;
    h[16..18].copy_from_slice(&((28 + REPORT_BYTES) as u16).to_be_bytes());
    (h[22], h[23]) = (64, 17);
    h[26..30].copy_from_slice(&[192, 0, 2, 10]);
    h[30..34].copy_from_slice(&[192, 0, 2, 1]);
    h[36..38].copy_from_slice(&PORT.to_be_bytes());
    h[38..40].copy_from_slice(&((8 + REPORT_BYTES) as u16).to_be_bytes());
    h
}
