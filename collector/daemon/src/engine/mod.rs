// SPDX-License-Identifier: Apache-2.0
//! The engine: the thread between the receivers and everything that takes results; one, or one for
//! each [shard](crate::shards).

mod input;
mod row_sink;
mod sink;
mod snapshot;

pub use input::{HostEvents, Input};
pub(crate) use row_sink::finish_all;
pub use row_sink::{RowSink, Standing};
pub use sink::EngineSink;
pub use snapshot::{SharedSnapshot, Snapshot};

use crate::reception_clock::ReceptionClock;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use tcp_probe::perf::Clock;
use tidemark_pipeline::{Pipeline, RefusalReason, Stats};

/// How often the pipeline is told the time while no input arrives.
const TICK: Duration = Duration::from_millis(20);
/// How often the counters are published.
const SNAPSHOT: Duration = Duration::from_millis(200);
/// How often sinks get the facts about the capture as a whole, and other shards learn which flows
/// are known here.
const META: Duration = Duration::from_secs(5);
/// Number of times that a shard announces its flows between rotations, which forget flows that no
/// shard has announced: no shard is that late.
const SAID_BEFORE_FORGOTTEN: u32 = 6;

/// Feeds the pipeline from a channel and tells it the time.
pub struct Engine {
    pipeline: Pipeline<EngineSink>,
    host: String,
    clock: Clock,
    reception: ReceptionClock,
    snapshot: SharedSnapshot,
    next_snapshot: Instant,
    next_flush: Instant,
    next_meta: Instant,
    /// Number of refused sources already logged.
    refused_told: usize,
    /// How many times the flows known here were announced.
    said: u32,
}

impl Engine {
    /// Creates an engine; the `clock` of `host` stamps the reception of reports.
    pub fn new(
        pipeline: Pipeline<EngineSink>,
        host: String,
        clock: Clock,
        snapshot: SharedSnapshot,
    ) -> Self {
        let now = Instant::now();
        Self {
            pipeline,
            host,
            clock,
            reception: ReceptionClock::new(clock.minus(Clock::Real).0),
            snapshot,
            next_snapshot: now,
            next_flush: now,
            next_meta: now + META,
            refused_told: 0,
            said: 0,
        }
    }

    /// Runs until every sender is gone, then finishes the pipeline and its sinks.
    ///
    /// # Errors
    /// If a row sink could not be completed.
    pub fn run(mut self, inputs: &Receiver<Input>) -> anyhow::Result<Stats> {
        loop {
            let input = inputs.recv_timeout(TICK);
            let offset_ns = self.clock.minus(Clock::Real).0;
            self.reception.observe(offset_ns, self.clock.now_ns());
            match input {
                Ok(input) => self.input(input),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let unix_minus_rx_ns = self.reception.clock_minus_unix_ns.wrapping_neg();
            self.pipeline.set_unix_offset(unix_minus_rx_ns);
            self.pipeline.sink_mut().set_unix_offset(unix_minus_rx_ns);
            // Batches still in the channel must not find the clock ahead of them.
            if input_is_idle(inputs, &mut self) {
                self.pipeline.advance(self.clock.now_ns());
            }
            self.periodic();
        }
        self.pipeline.finish();
        self.pipeline.sink_mut().flush();
        self.publish_snapshot();
        let stats = self.pipeline.stats();
        self.tell_standing();
        self.pipeline.into_sink().finish()?;
        Ok(stats)
    }

    fn input(&mut self, input: Input) {
        let now_ns = self.clock.now_ns();
        self.pipeline.hand_over(now_ns);
        match input {
            Input::Reports(batch) => {
                self.pipeline.sink_mut().datagrams += batch.len() as u64;
                self.pipeline
                    .push_datagrams(batch.datagrams(self.reception, now_ns), |sink, e| {
                        if let Some(n) = sink.malformed.get_mut(e.index()) {
                            *n += 1;
                        }
                    });
            }
            Input::Events(e) => {
                let host = e.host.as_deref().unwrap_or(&self.host);
                if e.copies.is_empty() {
                    self.pipeline.push_events(host, e.events);
                } else {
                    self.pipeline
                        .push_shared(host, e.events.into_iter().zip(e.copies));
                }
            }
        }
    }

    fn periodic(&mut self) {
        let now = Instant::now();
        if now >= self.next_flush {
            self.next_flush = now + TICK * 5;
            self.pipeline.sink_mut().flush();
        }
        if now >= self.next_snapshot {
            self.next_snapshot = now + SNAPSHOT;
            self.publish_snapshot();
            self.tell_refused();
        }
        if now >= self.next_meta {
            self.next_meta = now + META;
            self.tell_standing();
            self.said += 1;
            let rotate = self.said.is_multiple_of(SAID_BEFORE_FORGOTTEN);
            let flows = self.pipeline.flow_keys();
            self.pipeline.sink().say_flows(flows, rotate);
        }
    }

    /// Logs once per source that its reports are refused.
    fn tell_refused(&mut self) {
        let sources = self.pipeline.refused_sources();
        for s in sources.iter().skip(self.refused_told) {
            let (exporter, node_id) = (s.exporter, s.node_id);
            let node = format!("nodes.{node_id}");
            let why = match s.reason {
                RefusalReason::UnknownNode => format!("the configuration has no [{node}]"),
                RefusalReason::UnknownExporter => {
                    format!("{node}.exporters does not name {exporter}")
                }
                RefusalReason::NoTag => {
                    format!("they have no tag, but {node}.key_file requires one")
                }
                RefusalReason::Replayed => format!(
                    "they came before, or belong to an earlier run of the exporter: a recording, or \
                     its clock was set back before it started (then remove {node_id} from runs_file)"
                ),
                RefusalReason::TwoClocks => format!(
                    "two series of times go on under this node's id: two exporters \
                     share the id, or one sends a recording; a key tells them apart ({node}.key_file)"
                ),
                RefusalReason::WrongTag => {
                    format!("their tag does not match the key in {node}.key_file")
                }
            };
            tracing::warn!(%exporter, node_id, "reports are refused: {why}");
        }
        self.refused_told = sources.len();
    }

    fn publish_snapshot(&self) {
        let (packets_waiting, samples_held) = self.pipeline.waiting();
        let sink = self.pipeline.sink();
        self.snapshot.set(Snapshot {
            number: 0,
            stats: self.pipeline.stats(),
            datagrams: sink.datagrams,
            malformed: sink.malformed,
            flows_active: self.pipeline.flows_active() as u64,
            segment_memory_bytes: self.pipeline.segment_memory_bytes(),
            packets_waiting: packets_waiting as u64,
            samples_held: samples_held as u64,
            runs: self.pipeline.runs(),
            nodes_of_hops_alone: self.pipeline.nodes_of_hops_alone(),
            refused_sources: self.pipeline.refused_sources().to_vec(),
        });
    }

    fn tell_standing(&mut self) {
        let standing = Standing {
            clocks: self.pipeline.clocks(),
            stats: self.pipeline.stats(),
            nodes_of_hops_alone: self.pipeline.nodes_of_hops_alone(),
            reception: self.pipeline.sink().reception(),
        };
        self.pipeline.sink_mut().standing(&standing);
    }
}

/// Takes waiting inputs, up to a limit; returns whether none is left.
fn input_is_idle(inputs: &Receiver<Input>, engine: &mut Engine) -> bool {
    for _ in 0..64 {
        match inputs.try_recv() {
            Ok(input) => engine.input(input),
            Err(_) => return true,
        }
    }
    false
}
