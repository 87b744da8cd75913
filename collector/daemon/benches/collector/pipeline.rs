// SPDX-License-Identifier: Apache-2.0
//! From memory: decoding, joining, storing.

use crate::data::{REPORT_BYTES, Recorded, config, recorded};
use crate::figure::{Row, per_core};
use int_report::decode as decode_report;
use std::hint::black_box;
use std::net::IpAddr;
use tidemark_capture::{CaptureMeta, CaptureWriter, FORMAT, WriterOptions};
use tidemark_pipeline::{Datagram, EventRow, Pipeline, PostcardRow, ProbeRow, Sink};
use tidemark_proto::telemetry::Update;

const FLOWS: u32 = 1000;
const REPORTS: u64 = 1_000_000;

pub(crate) fn decode() -> Row {
    let data = recorded(FLOWS, 200_000);
    Row::median("decode v2.0 reports from memory, per core", 30e6, || {
        const ROUNDS: u64 = 20;
        let items = ROUNDS * data.rx_ns.len() as u64;
        per_core(items, || {
            let mut sum = 0u64;
            for _ in 0..ROUNDS {
                for report in data.reports.chunks(REPORT_BYTES) {
                    let _ = decode_report(black_box(report), |r| {
                        sum = sum
                            .wrapping_add(u64::from(r.queue_occupancy.unwrap_or(0)))
                            .wrapping_add(r.ingress_ts.unwrap_or(0))
                            .wrapping_add(r.egress_ts.unwrap_or(0))
                            .wrapping_add(u64::from(r.egress_port.unwrap_or(0)))
                            .wrapping_add(u64::from(r.limit.unwrap_or(0)))
                            .wrapping_add(u64::from(r.policy_flags.unwrap_or(0)))
                            .wrapping_add(u64::from(r.sequence) + u64::from(r.node_id))
                            .wrapping_add(r.inner.packet.len() as u64);
                    });
                }
            }
            black_box(sum);
        })
    })
}

/// Counts what it is given.
#[derive(Default)]
struct Count {
    postcards: u64,
    joined: u64,
    intervals: u64,
}

impl Sink for Count {
    fn postcard(&mut self, row: &PostcardRow) {
        self.postcards += 1;
        self.joined += u64::from(row.join.matched());
    }
    fn probe(&mut self, _: &ProbeRow) {}
    fn event(&mut self, _: &EventRow) {}
    fn update(&mut self, update: Update) {
        self.intervals += update.flow_intervals.len() as u64;
    }
}

/// Gives everything to the pipeline in the order of reception, in batches as
/// the receiving threads make them.
fn feed<S: Sink>(pipeline: &mut Pipeline<S>, data: &Recorded) {
    const BATCH: usize = 64;
    let exporter = IpAddr::from([192, 0, 2, 10]);
    let data = black_box(data);
    let mut samples = data.samples.iter().peekable();
    let batches = data.reports.chunks(BATCH * REPORT_BYTES);
    for (reports, rx_ns) in batches.zip(data.rx_ns.chunks(BATCH)) {
        let due = || samples.next_if(|e| e.time_ns() <= rx_ns[0]).copied();
        pipeline.push_events("local", std::iter::from_fn(due));
        let datagrams = reports
            .chunks(REPORT_BYTES)
            .zip(rx_ns)
            .map(|(payload, &rx_ns)| Datagram {
                exporter,
                rx_ns,
                payload,
            });
        pipeline.push_datagrams(datagrams, |_, e| panic!("{e}"));
    }
    pipeline.finish();
}

pub(crate) fn join() -> Row {
    let data = recorded(FLOWS, REPORTS);
    Row::median(
        "decode, flow, join, intervals; 1000 flows, per core",
        8e6,
        || {
            let mut pipeline = Pipeline::new(config(), Count::default()).unwrap();
            let rate = per_core(REPORTS, || feed(&mut pipeline, &data));
            let sink = pipeline.sink();
            assert_eq!(sink.postcards, REPORTS);
            assert!(
                sink.joined as f64 > 0.95 * REPORTS as f64,
                "{}",
                sink.joined
            );
            assert!(sink.intervals > 10_000);
            let by_sequence = pipeline.stats().join_by_sequence;
            assert!(by_sequence as f64 > 0.95 * REPORTS as f64, "{by_sequence}");
            rate
        },
    )
}

struct Store(CaptureWriter);

impl Sink for Store {
    fn postcard(&mut self, row: &PostcardRow) {
        self.0.postcard(row);
    }
    fn probe(&mut self, row: &ProbeRow) {
        self.0.probe(row);
    }
    fn event(&mut self, row: &EventRow) {
        self.0.event(row);
    }
    fn update(&mut self, _: Update) {}
}

pub(crate) fn parquet() -> Row {
    let data = recorded(FLOWS, REPORTS);
    let mut bytes = 0.0;
    let mut row = Row::median(
        "the same and a Parquet capture (zstd), per core",
        2.5e6,
        || {
            let dir = tempfile::tempdir().unwrap();
            let meta = CaptureMeta {
                format: FORMAT,
                config: config(),
                ..CaptureMeta::default()
            };
            let options = WriterOptions {
                wait_when_full: true,
                ..WriterOptions::default()
            };
            let writer = CaptureWriter::create(&dir.path().join("c"), meta, options).unwrap();
            let mut pipeline = Pipeline::new(config(), Store(writer)).unwrap();
            let rate = per_core(REPORTS, || {
                feed(&mut pipeline, &data);
                let stats = pipeline.into_sink().0.finish(0).unwrap();
                assert_eq!(stats.lost(), 0);
            });
            bytes = crate::store::size(&dir.path().join("c"), "postcards-") as f64;
            rate
        },
    );
    row.note = format!("{:.1} bytes per postcard", bytes / REPORTS as f64);
    row
}
