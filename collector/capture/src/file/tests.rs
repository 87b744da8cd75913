// SPDX-License-Identifier: Apache-2.0
//! Tests every encoding with values of every size, using Parquet's own reader.

use super::*;
use crate::reader::{Rows, files};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use tidemark_pipeline::{Join, PostcardRow};

/// Reproducible random numbers; `spread` returns small, large, equal and wrapping numbers.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn spread(&mut self) -> u64 {
        match self.next() % 8 {
            0 => 0,
            1 => u64::MAX,
            2..=4 => self.next() % 300,
            _ => self.next() >> (self.next() % 64),
        }
    }
}

fn row(order: u64, r: &mut Random) -> PostcardRow {
    let dropped = r.next().is_multiple_of(5);
    let join = Join::from_code((r.next() % 4) as u8);
    let joined = |v: u64| if join.matched() { v as u32 } else { 0 };
    // Whole pages of constant values alternate with pages of varying values.
    let quiet = (order / 9000).is_multiple_of(2);
    PostcardRow {
        order,
        rx_ns: r.spread(),
        node_id: if quiet { 7 } else { r.spread() as u32 },
        hw_id: r.spread() as u8,
        sequence: r.spread() as u32,
        flow_id: r.next() % if quiet { 3 } else { 100_000 },
        port: if quiet { u32::MAX } else { 1 },
        ingress_ns: r.spread(),
        egress_ns: if dropped { 0 } else { r.spread() },
        occupancy_bytes: if quiet { u64::MAX } else { r.spread() },
        ip_bytes: r.spread() as u32,
        payload_bytes: if r.next().is_multiple_of(100) { 9 } else { 8 },
        tcp_seq: (order * 1448) as u32,
        tcp_flags: r.next() as u8 & 1,
        ce_marked: quiet && r.next().is_multiple_of(300),
        dropped,
        retransmitted: order / 50 % 2 == 1,
        lost_before: if quiet { -1 } else { r.spread() as i32 },
        join,
        cwnd: joined(r.next() % 50),
        ssthresh: joined(0x7fff_ffff),
        srtt_us: joined(r.spread()),
        ..PostcardRow::default()
    }
}

#[test]
fn every_value_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let mut r = Random(88_172_645_463_325_252);
    let rows: Vec<PostcardRow> = (0..40_000).map(|n| row(n, &mut r)).collect();
    let mut writer = TableWriter::new(durable_fs::real(), dir.path(), 3).unwrap();
    // Files of one row, of part of a page, of a page, and of several pages and a part.
    let cuts = [1, 300, 8192, 31_507];
    let mut left = rows.as_slice();
    for cut in cuts {
        let (part, rest) = left.split_at(cut);
        for piece in part.chunks(777) {
            writer.write(piece).unwrap();
        }
        assert_eq!(writer.open_rows(), cut);
        writer.close().unwrap();
        left = rest;
    }
    assert!(left.is_empty());
    let mut read = Rows::<PostcardRow>::open(dir.path()).unwrap();
    for expected in &rows {
        assert_eq!(read.peek().unwrap(), Some(expected));
        read.take();
    }
    assert!(read.peek().unwrap().is_none());

    let files = files(dir.path(), "postcards").unwrap();
    assert_eq!(files.len(), cuts.len());
    let reader = SerializedFileReader::new(std::fs::File::open(&files[3]).unwrap()).unwrap();
    let group = reader.metadata().row_group(0);
    assert_eq!(group.num_rows(), 31_507);
    let part = &rows[8493..];
    let statistics = |name: &str| {
        let column = group
            .columns()
            .iter()
            .find(|c| c.column_path().string() == name);
        column.and_then(|c| c.statistics()).cloned().unwrap()
    };
    let Statistics::Int64(order) = statistics("order") else {
        panic!("order is not of 64 bits")
    };
    assert_eq!(order.min_opt(), Some(&8493));
    assert_eq!(order.max_opt(), Some(&39_999));
    let Statistics::Int64(occupancy) = statistics("occupancy_bytes") else {
        panic!("occupancy is not of 64 bits")
    };
    // The column is unsigned, so the maximum has all bits set.
    assert_eq!(occupancy.max_opt(), Some(&-1));
    let Statistics::Int32(lost) = statistics("lost_before") else {
        panic!("losses are not of 32 bits")
    };
    assert_eq!(
        lost.min_opt().copied(),
        part.iter().map(|r| r.lost_before).min()
    );
    assert_eq!(
        lost.max_opt().copied(),
        part.iter().map(|r| r.lost_before).max()
    );
    let egress = statistics("egress_ns");
    let nulls = part.iter().filter(|r| r.dropped).count();
    assert_eq!(egress.null_count_opt(), Some(nulls as u64));
}
