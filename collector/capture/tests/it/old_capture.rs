// SPDX-License-Identifier: Apache-2.0
//! Tests that a capture written by commit 63e1e1a, with an Arrow schema in its metadata, reads
//! exactly as that commit read it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;
use tidemark_capture::{Export, Merged, Selection, TextFormat, export};

fn fixture() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/capture-63e1e1a")
}

fn checksum(text: &[u8]) -> u64 {
    let step = |sum: u64, &byte: &u8| sum.wrapping_mul(31).wrapping_add(byte.into());
    text.iter().fold(0, step)
}

/// Removes the columns that came later, of which every row must have the default value.
fn without_newer_columns(table: &str, text: &str) -> String {
    let newer = |name: &str| match table {
        "tcp_probe" => name == "queue",
        _ => ["feedback_rtt_us", "from_stack", "out_of_sample"].contains(&name),
    };
    let header: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let mut kept = String::new();
    for (n, line) in text.lines().enumerate() {
        let cells = header.iter().zip(line.split(','));
        let (gone, stay): (Vec<_>, Vec<_>) = cells.partition(|(name, _)| newer(name));
        assert!(
            n == 0
                || gone
                    .iter()
                    .all(|(_, cell)| ["", "0", "false"].contains(cell)),
            "{line}"
        );
        let stay: Vec<&str> = stay.into_iter().map(|(_, cell)| cell).collect();
        kept += &(stay.join(",") + "\n");
    }
    kept
}

#[test]
fn every_table_reads_as_it_was_written() {
    // Number of rows and checksum of the output of that commit's `export --csv`.
    for (table, rows, sum) in [
        ("postcards", 2520, 0x2007_dac6_601c_6bd2),
        ("tcp_probe", 1514, 0x12a2_1656_a78a_f79a),
        ("events", 95, 0x1d44_7d14_6fec_a384),
    ] {
        let mut text = Vec::new();
        let what = Export {
            table,
            format: TextFormat::Csv,
            selection: Selection::default(),
        };
        let mut looked_at = (0, 0);
        let written = export(&fixture(), &what, &mut text, |n, of| looked_at = (n, of)).unwrap();
        assert_eq!(looked_at, (rows, rows), "{table}");
        let text = without_newer_columns(table, &String::from_utf8(text).unwrap());
        assert_eq!((written, checksum(text.as_bytes())), (rows, sum), "{table}");
    }
}

#[test]
fn rows_come_in_their_order() {
    let mut merged = Merged::open(&fixture()).unwrap();
    let mut rows = 0;
    while merged.next_row().unwrap().is_some() {
        rows += 1;
    }
    assert_eq!(rows, 2520 + 1514 + 95);
}
