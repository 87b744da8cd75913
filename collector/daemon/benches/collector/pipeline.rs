// SPDX-License-Identifier: Apache-2.0
//! Decoding, joining and storing of reports from memory.

use crate::data::{REPORT_BYTES, Recorded, config, config_for, recorded};
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

/// Sink that counts its rows.
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

/// Feeds everything to the pipeline in order of reception, in batches like those of the receiving
/// threads.
pub(crate) fn feed<S: Sink>(pipeline: &mut Pipeline<S>, data: &Recorded) {
    let all = data.rx_ns.len();
    feed_some(pipeline, data, 0, all);
    pipeline.finish();
}

/// Feeds the reports `from..to`, in whole batches, and the samples that go with them.
fn feed_some<S: Sink>(pipeline: &mut Pipeline<S>, data: &Recorded, from: usize, to: usize) {
    const BATCH: usize = 64;
    let exporter = IpAddr::from([192, 0, 2, 10]);
    let data = black_box(data);
    // Samples due at an earlier batch have been given.
    let given = match from.checked_sub(BATCH) {
        Some(last) => {
            let ns = data.rx_ns[last];
            data.samples.partition_point(|e| e.time_ns() <= ns)
        }
        None => 0,
    };
    let mut samples = data.samples[given..].iter().peekable();
    let reports = &data.reports[from * REPORT_BYTES..to * REPORT_BYTES];
    let batches = reports.chunks(BATCH * REPORT_BYTES);
    for (reports, rx_ns) in batches.zip(data.rx_ns[from..to].chunks(BATCH)) {
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
}

pub(crate) fn join() -> Row {
    let what = "decode, flow, join, intervals; 1000 flows, per core";
    join_of(what, 8e6, FLOWS, REPORTS, 0)
}

pub(crate) fn join_ten_thousand() -> Row {
    join_steadily("the same, 10 000 flows", 8e6, 10_000)
}

pub(crate) fn join_hundred_thousand() -> Row {
    join_steadily("the same, 100 000 flows", 5e6, 100_000)
}

/// Measures the join with flows that are known when the measurement begins: four packets of each
/// have passed, and in all enough that interval records have been published, so that all memory has
/// been touched. The number of packets is even, because every second one is acknowledged.
fn join_steadily(what: &'static str, target: f64, flows: u32) -> Row {
    let before = (4 * flows as usize).max(300_000);
    join_of(what, target, flows, before as u64 + REPORTS, before)
}

fn join_of(what: &'static str, target: f64, flows: u32, reports: u64, before: usize) -> Row {
    let data = recorded(flows, reports);
    Row::median(what, target, || {
        let room = config_for(2 * flows as usize);
        let mut pipeline = Pipeline::new(room, Count::default()).unwrap();
        feed_some(&mut pipeline, &data, 0, before);
        let rate = per_core(reports - before as u64, || {
            feed_some(&mut pipeline, &data, before, reports as usize);
            pipeline.finish();
        });
        let sink = pipeline.sink();
        assert_eq!(sink.postcards, reports);
        assert!(
            sink.joined as f64 > 0.95 * reports as f64,
            "{}",
            sink.joined
        );
        assert!(sink.intervals > 10_000);
        let stats = pipeline.stats();
        assert_eq!(stats.flows_evicted, 0);
        let by_sequence = stats.join_by_sequence;
        assert!(by_sequence as f64 > 0.95 * reports as f64, "{by_sequence}");
        rate
    })
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
