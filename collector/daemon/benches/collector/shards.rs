// SPDX-License-Identifier: Apache-2.0
//! Two pipelines compared with one: the gain from a second core.
//!
//! Each pipeline has the reports of a node, the samples of its flows, and a core; the rows of both
//! go through one merge, their records to one hub. Wall-clock time counts. The code that divides
//! the reports among them runs in the receiving threads and is not measured here.

use crate::data::{NODE, REPORT_BYTES, Recorded, config_for, recorded};
use crate::figure::{Row, pin, unpin};
use crate::pipeline::feed;
use crate::reference::gain_of_two_cores;
use std::sync::{Arc, Barrier};
use std::time::Instant;
use tidemark_collector::engine::{EngineSink, RowSink};
use tidemark_collector::hub::Hub;
use tidemark_collector::shards::{FlowShards, engine_sinks};
use tidemark_pipeline::{Pipeline, PostcardRow, ProbeRow};

const FLOWS: u32 = 1000;
const REPORTS: u64 = 1_000_000;
/// Target, as a fraction of the gain of two memory-bound loops in the same run.
const LEAST_OF_LOOPS: f64 = 0.9;

/// Sink that discards its rows.
struct Nowhere;

impl RowSink for Nowhere {
    fn rows(&mut self, _: &[PostcardRow], _: &[ProbeRow]) {}
}

/// Moves the traffic to another node.
fn at_node(mut data: Recorded, node: u32) -> Recorded {
    for report in data.reports.chunks_mut(REPORT_BYTES) {
        report[4..8].copy_from_slice(&node.to_be_bytes());
    }
    data
}

fn sinks(shards: usize) -> Vec<EngineSink> {
    let flows = (shards > 1).then(|| Arc::new(FlowShards::new(2 * FLOWS as usize)));
    let hub = Arc::new(Hub::new(65_536));
    engine_sinks(
        vec![Box::new(Nowhere)],
        shards,
        flows,
        &hub,
        &Arc::default(),
    )
}

/// Returns the reports per second of one pipeline for each of `data`, all at once.
fn rate(data: &[Recorded]) -> f64 {
    let shards = data.len();
    let begin = Barrier::new(shards + 1);
    let start = std::thread::scope(|scope| {
        for (i, (sink, data)) in sinks(shards).into_iter().zip(data).enumerate() {
            let begin = &begin;
            scope.spawn(move || {
                pin(i);
                let config = config_for(2 * FLOWS as usize);
                let mut pipeline = Pipeline::new(config, sink).unwrap();
                begin.wait();
                feed(&mut pipeline, data);
                let stats = pipeline.stats();
                assert_eq!((stats.reports, stats.postcard_rows), (REPORTS, REPORTS));
                assert!(stats.join_by_sequence as f64 > 0.95 * REPORTS as f64);
            });
        }
        begin.wait();
        Instant::now()
    });
    (shards as u64 * REPORTS) as f64 / start.elapsed().as_secs_f64()
}

pub(crate) fn two() -> Row {
    unpin(); // the rows before this one have one core
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let data = [
        recorded(FLOWS, REPORTS),
        at_node(recorded(FLOWS, REPORTS), NODE + 1),
    ];
    let mut ratios = Vec::new();
    let what = "the same by two shards on two cores, by the clock";
    let mut row = Row::median(what, 0.0, || {
        let (one, both) = (rate(&data[..1]), rate(&data));
        ratios.push(both / one);
        both
    });
    ratios.sort_by(f64::total_cmp);
    row.note = match cores {
        1 => "there is one core only".to_owned(),
        _ => {
            let (gain, loops) = (ratios[ratios.len() / 2], gain_of_two_cores());
            let wanted = LEAST_OF_LOOPS * loops;
            let below = if gain < wanted { "BELOW " } else { "" };
            format!(
                "{below}{gain:.2} times one ({wanted:.2} wanted; memory-bound loops {loops:.2})"
            )
        }
    };
    row
}
