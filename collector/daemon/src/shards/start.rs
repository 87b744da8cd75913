// SPDX-License-Identifier: Apache-2.0
//! Starts an engine for each shard.

use super::{EventSender, FlowShards, ReportSender, RowMerge, ShardPart, StatusSum};
use crate::engine::{Engine, EngineSink, Input, RowSink, SharedSnapshot};
use crate::hub::Hub;
use crate::source::SourceCounters;
use anyhow::{Context, Result, anyhow};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use tcp_probe::perf::Clock;
use tidemark_pipeline::{Config, FlowIds, NodeShards, Pipeline, Share, Stats};
use tokio::sync::mpsc;

/// Maximum number of batches that wait for each engine, of at most 4 MiB each if the kernel has
/// coalesced as much as it can. Further datagrams wait in the sockets.
const CHANNEL: usize = 32;

/// Options of all engines.
pub struct Options {
    /// Configuration of the pipelines, which divide its limits among them.
    pub pipeline: Config,
    /// Number of engines.
    pub shards: usize,
    /// Name of this machine in samples.
    pub host: String,
    /// Clock of reception times.
    pub clock: Clock,
}

/// Engines that run until all their senders are gone.
pub struct Engines {
    inputs: Vec<SyncSender<Input>>,
    nodes: NodeShards,
    flows: Option<Arc<FlowShards>>,
    threads: Vec<JoinHandle<()>>,
    results: mpsc::Receiver<Result<Stats>>,
}

impl Engines {
    /// Starts the engines. Rows go to `sinks`, updates to `hub`, counters to `snapshot`.
    ///
    /// # Errors
    /// If the configuration of the pipelines cannot be used, or a thread cannot be started.
    pub fn start(
        options: &Options,
        sinks: Vec<Box<dyn RowSink>>,
        hub: &Arc<Hub>,
        counters: &Arc<SourceCounters>,
        snapshot: &SharedSnapshot,
    ) -> Result<Self> {
        let shards = options.shards.max(1);
        let flows = (shards > 1).then(|| Arc::new(FlowShards::new(options.pipeline.max_flows)));
        let (done, results) = mpsc::channel(shards);
        let mut engines = Self {
            inputs: Vec::new(),
            nodes: NodeShards::new(options.pipeline.nodes.keys().copied(), shards),
            flows: flows.clone(),
            threads: Vec::new(),
            results,
        };
        let ids = FlowIds::default();
        let sinks = engine_sinks(sinks, shards, flows, hub, counters);
        for (index, sink) in sinks.into_iter().enumerate() {
            let config = part_of(&options.pipeline, Share { index, of: shards });
            let engine = Engine::new(
                Pipeline::sharing_ids(config, ids.clone(), sink)?,
                options.host.clone(),
                options.clock,
                snapshot.of_engine(index),
            );
            let (sender, inputs) = sync_channel(CHANNEL);
            engines.inputs.push(sender);
            let name = match shards {
                1 => "engine".to_owned(),
                _ => format!("engine-{index}"),
            };
            let done = done.clone();
            let thread = std::thread::Builder::new()
                .name(name.clone())
                .spawn(move || {
                    // There is room for every result; the other end is gone only when the process
                    // ends.
                    let _ = done.try_send(engine.run(&inputs));
                });
            let thread = thread.with_context(|| format!("cannot start thread {name}"))?;
            engines.threads.push(thread);
        }
        Ok(engines)
    }

    /// Returns a sender for the reports of one receiving thread.
    pub fn report_sender(&self) -> ReportSender {
        ReportSender::new(self.inputs.clone(), self.nodes.clone())
    }

    /// Returns a sender for hosts' events.
    pub fn event_sender(&self) -> EventSender {
        EventSender::new(self.inputs.clone(), self.flows.clone())
    }

    /// Drops the senders held here: the engines end once all other senders are dropped, too.
    pub fn close(&mut self) {
        self.inputs.clear();
    }

    /// Waits for an engine to end and returns its result: while it has senders, only an error ends
    /// it. `None` once all have ended.
    pub async fn ended(&mut self) -> Option<Result<Stats>> {
        self.results.recv().await
    }

    /// Waits for all engines; returns the sum of their totals. `early` is an earlier result.
    ///
    /// # Errors
    /// The first error of an engine.
    pub async fn join(mut self, early: Option<Result<Stats>>) -> Result<Stats> {
        let mut results: Vec<Result<Stats>> = early.into_iter().collect();
        while let Some(result) = self.results.recv().await {
            results.push(result);
        }
        let started = self.threads.len();
        for thread in self.threads {
            if thread.join().is_err() {
                tracing::error!("an engine thread panicked");
            }
        }
        if results.len() < started {
            return Err(anyhow!("the engine stopped without a result"));
        }
        let mut sum = Stats::default();
        for stats in results {
            sum += &stats?;
        }
        Ok(sum)
    }
}

/// Returns the configuration of one of several pipelines, which divide the limits among them.
fn part_of(config: &Config, share: Share) -> Config {
    let shards = share.of;
    Config {
        share,
        max_flows: config.max_flows.div_ceil(shards).max(Config::LEAST_FLOWS),
        max_segment_memory_bytes: config
            .max_segment_memory_bytes
            .div_ceil(shards)
            .max(Config::LEAST_SEGMENT_MEMORY_BYTES),
        max_pending: config
            .max_pending
            .div_ceil(shards)
            .max(Config::LEAST_PENDING),
        ..config.clone()
    }
}

/// Creates a sink for each engine. If there are several, `flows` is set, and a [`RowMerge`] merges
/// their rows before `rows`.
pub fn engine_sinks(
    rows: Vec<Box<dyn RowSink>>,
    shards: usize,
    flows: Option<Arc<FlowShards>>,
    hub: &Arc<Hub>,
    counters: &Arc<SourceCounters>,
) -> Vec<EngineSink> {
    let sink = |rows, part| EngineSink::new(rows, Arc::clone(hub), Arc::clone(counters), part);
    let Some(flows) = flows else {
        return vec![sink(rows, None)];
    };
    let merge = RowMerge::new(rows, shards);
    let statuses = Arc::new(StatusSum::new(shards));
    let part = |index| ShardPart {
        index,
        flows: Arc::clone(&flows),
        statuses: Arc::clone(&statuses),
    };
    (0..shards)
        .map(|i| sink(vec![Box::new(merge.of_shard(i))], Some(part(i))))
        .collect()
}
