// SPDX-License-Identifier: Apache-2.0
//! Any file of reports and samples, cut or with bits flipped, ends in counted rows or in one
//! line of error, and never in a panic.

use proptest::prelude::*;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use tidemark_capture::{Columns, Merged, Selection, TABLES};
use tidemark_collector::import::{ImportOptions, import};
use tidemark_pcap::{RAW, Writer};

/// Reports of version 1.0, each with a stack of two hops.
fn reports() -> Vec<u8> {
    let path = tempfile::NamedTempFile::new().unwrap();
    let mut writer = Writer::new(path.reopen().unwrap(), RAW).unwrap();
    for n in 0..20u8 {
        let mut payload = crate::field::with_stack(n);
        let length = payload.len() as u16 + 8;
        let mut packet = vec![0x45, 0];
        packet.extend((length + 20).to_be_bytes());
        packet.extend([0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 9, 192, 0, 2, 1]);
        packet.extend([0x80, 0, 0x7f, 0xfe]);
        packet.extend(length.to_be_bytes());
        packet.extend([0, 0]);
        packet.append(&mut payload);
        let at_ns = 1_000_000_000 + u64::from(n) * 1_000_000;
        writer.write(at_ns, &packet).unwrap();
    }
    writer.finish().unwrap();
    std::fs::read(path.path()).unwrap()
}

/// Converts the frames to a section of pcapng.
fn as_pcapng(pcap: &[u8]) -> Vec<u8> {
    let block = |kind: u32, body: &[u8]| {
        let mut body = body.to_vec();
        body.resize(body.len().next_multiple_of(4), 0);
        let length = (body.len() as u32 + 12).to_le_bytes();
        [&kind.to_le_bytes()[..], &length, &body, &length].concat()
    };
    let mut out = block(
        0x0a0d_0d0a,
        &[&0x1a2b_3c4du32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat(),
    );
    // Raw IP, times in nanoseconds.
    out.extend(block(
        1,
        &[101, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0, 9, 0, 0, 0],
    ));
    let mut rest = &pcap[24..];
    while let Some((header, after)) = rest.split_at_checked(16) {
        let word = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().unwrap());
        let (data, after) = after.split_at(word(8) as usize);
        let ns = u64::from(word(0)) * 1_000_000_000 + u64::from(word(4));
        let mut body = vec![0; 4];
        for n in [(ns >> 32) as u32, ns as u32, word(8), word(12)] {
            body.extend(n.to_le_bytes());
        }
        body.extend(data);
        out.extend(block(6, &body));
        rest = after;
    }
    out
}

fn trace() -> Vec<u8> {
    (0..20)
        .map(|n| {
            format!(
                "  iperf3  3829 [003]  1.{n:06}:  tcp:tcp_probe: src=10.1.0.9:1 dest=10.1.0.8:2 \
                 mark=0 data_len=0 snd_nxt=0x2 snd_una=0x1 snd_cwnd=9 ssthresh=8 snd_wnd=7 \
                 srtt=6 rcv_wnd=5\n"
            )
        })
        .collect::<String>()
        .into_bytes()
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    to.write_all(bytes).unwrap();
    to.finish().unwrap()
}

fn written(dir: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// Imports the files, and checks that the counts of the report add up.
fn adds_up(pcap: &[u8], trace: &[u8]) -> Result<(), TestCaseError> {
    let dir = tempfile::tempdir().unwrap();
    let source = written(dir.path(), "trace", trace);
    let report = match import(&ImportOptions {
        pcap: written(dir.path(), "reports", pcap),
        tcp_probe: vec![source.as_path().into()],
        out: dir.path().join("capture"),
        ..ImportOptions::default()
    }) {
        Ok(report) => report,
        Err(error) => {
            let said = format!("{error:#}");
            prop_assert!(!said.is_empty() && !said.contains('\n'), "{}", said);
            return Ok(());
        }
    };
    // A datagram that breaks off after a report has both; no frame has neither.
    let without: u64 = report.frames.without_report.values().sum();
    let told = report.frames.reports + without;
    prop_assert!(told >= report.frames.frames, "{}", report.frames);
    prop_assert!(without <= report.frames.frames, "{}", report.frames);
    let packets = &report.packets;
    let without: u64 = packets.without_row.values().sum();
    prop_assert_eq!(packets.records, packets.rows + without, "{}", packets);
    let samples = &report.samples;
    let without: u64 = samples.without_row.values().sum();
    prop_assert_eq!(samples.samples, samples.rows + without, "{}", samples);
    let t = &report.tcp_probe;
    prop_assert_eq!(t.events + t.malformed + t.other, t.lines, "{:?}", t);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]
    #[test]
    fn damaged_files_end_in_counts_or_one_line(
        form in 0..4usize,
        of_trace in any::<bool>(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0..8u32), 0..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let (mut pcap, mut text) = (reports(), trace());
        if form & 1 > 0 {
            pcap = as_pcapng(&pcap);
        }
        if form & 2 > 0 {
            (pcap, text) = (packed(&pcap), packed(&text));
        }
        let damaged = if of_trace { &mut text } else { &mut pcap };
        for (place, bit) in flips {
            let place = place.index(damaged.len());
            damaged[place] ^= 1 << bit;
        }
        if let Some(cut) = cut {
            let length = cut.index(damaged.len());
            damaged.truncate(length);
        }
        adds_up(&pcap, &text)?;
    }
}

/// Undamaged files of every form are read to their end.
#[test]
fn both_forms_are_read_to_their_end() {
    for pcap in [reports(), as_pcapng(&reports()), packed(&reports())] {
        let dir = tempfile::tempdir().unwrap();
        let source = written(dir.path(), "trace", &trace());
        let report = import(&ImportOptions {
            pcap: written(dir.path(), "reports", &pcap),
            tcp_probe: vec![source.as_path().into()],
            out: dir.path().join("capture"),
            ..ImportOptions::default()
        })
        .unwrap();
        assert_eq!(
            (
                report.frames.frames,
                report.frames.reports,
                report.packets.rows
            ),
            (20, 20, 40)
        );
        assert_eq!(report.tcp_probe.samples, 20);
    }
}

/// Captures in the forms that other programs write, with every codec.
const REWRITTEN: [&str; 7] = [
    "original",
    "pyarrow",
    "pandas",
    "polars",
    "duckdb",
    "duckdb-signed",
    "spark",
];

/// Copies the files of a capture; returns the files with rows.
fn copied(from: &Path, to: &Path) -> Vec<PathBuf> {
    let mut tables = Vec::new();
    for entry in std::fs::read_dir(from).unwrap() {
        let from = entry.unwrap().path();
        let to = to.join(from.file_name().unwrap());
        if from.is_dir() {
            std::fs::create_dir(&to).unwrap();
            tables.extend(copied(&from, &to));
        } else {
            std::fs::copy(&from, &to).unwrap();
            tables.extend(Some(to).filter(|t| t.extension().is_some_and(|e| e == "parquet")));
        }
    }
    tables.sort();
    tables
}

fn capture_of(form: &str) -> (tempfile::TempDir, Vec<PathBuf>) {
    let dir = tempfile::tempdir().unwrap();
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../capture/fixtures/rewritten");
    let tables = copied(&all.join(form), dir.path());
    let described = all.join("original/capture.json");
    std::fs::copy(described, dir.path().join("capture.json")).unwrap();
    (dir, tables)
}

/// Reads the rows in the order of all tables, then table by table as columns.
fn rows_of(dir: &Path) -> Result<(u64, u64), tidemark_capture::CaptureError> {
    let expected = Merged::rows(dir)?;
    let mut merged = Merged::open(dir)?;
    while merged.next_row()?.is_some() {}
    for table in TABLES {
        let mut columns = Columns::open(dir, table, None, &Selection::default())?;
        while columns.next_batch()?.is_some() {}
    }
    Ok((merged.rows_read(), expected))
}

proptest! {
    #[test]
    fn damaged_captures_end_in_all_their_rows_or_one_line(
        form in prop::sample::select(&REWRITTEN[..]),
        table in any::<prop::sample::Index>(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0..8u32), 0..6),
        at_the_end in any::<bool>(),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let (dir, tables) = capture_of(form);
        let table = &tables[table.index(tables.len())];
        let mut bytes = std::fs::read(table).unwrap();
        // The footer describes everything before it.
        let from = if at_the_end { bytes.len() / 2 } else { 0 };
        for (place, bit) in flips {
            let place = from + place.index(bytes.len() - from);
            bytes[place] ^= 1 << bit;
        }
        if let Some(cut) = cut.filter(|_| !at_the_end) {
            bytes.truncate(cut.index(bytes.len()));
        }
        std::fs::write(table, bytes).unwrap();
        match rows_of(dir.path()) {
            Ok((read, expected)) => prop_assert_eq!(read, expected),
            Err(error) => {
                let said = error.to_string();
                prop_assert!(!said.is_empty() && !said.contains('\n'), "{}", said);
            }
        }
    }
}

#[test]
fn every_form_of_a_capture_is_read_whole() {
    for form in REWRITTEN {
        let (dir, tables) = capture_of(form);
        assert_eq!(tables.len(), 3, "{form}");
        let (read, expected) = rows_of(dir.path()).unwrap();
        assert!(read == expected && read > 200, "{form}");
    }
}
