// SPDX-License-Identifier: Apache-2.0
//! The one thread between receivers and everything that takes results.

mod row_sink;
mod sink;

pub use row_sink::{RowSink, Standing};
pub use sink::EngineSink;

use crate::source::Batch;
use crate::time::clock_minus_unix_ns;
use int_report::DecodeError;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tcp_probe::perf::Clock;
use tidemark_pipeline::{Pipeline, RefusalReason, RefusedSource, Stats};

/// How often time is told to the pipeline when nothing comes.
const TICK: Duration = Duration::from_millis(20);
/// How often counters are made visible.
const SNAPSHOT: Duration = Duration::from_millis(200);
/// How often sinks learn what is known of the capture as a whole.
const META: Duration = Duration::from_secs(5);

/// What the engine is fed.
pub enum Input {
    Reports(Batch),
    Events(Vec<tcp_probe::Event>),
    /// Of another host, through its agent.
    HostEvents {
        host: String,
        events: Vec<tcp_probe::Event>,
    },
}

/// Counters of the engine as others see them.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Snapshot {
    /// How many were published, with this one: it stands still where the engine does.
    pub number: u64,
    pub stats: Stats,
    pub datagrams: u64,
    /// By [`DecodeError::LABELS`].
    pub malformed: [u64; DecodeError::LABELS.len()],
    pub flows_active: u64,
    pub packets_waiting: u64,
    pub samples_held: u64,
    /// Where refused reports came from, the first ones.
    pub refused_sources: Vec<RefusedSource>,
}

impl Snapshot {
    /// Datagrams that could not be decoded to their end.
    pub fn malformed_total(&self) -> u64 {
        self.malformed.iter().sum()
    }
}

/// A [`Snapshot`] shared between threads.
#[derive(Clone, Debug, Default)]
pub struct SharedSnapshot(Arc<Mutex<Snapshot>>);

impl SharedSnapshot {
    pub fn get(&self) -> Snapshot {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// How many were published.
    pub fn published(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).number
    }

    fn set(&self, snapshot: Snapshot) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = last.number + 1;
        *last = Snapshot { number, ..snapshot };
    }
}

/// Feeds the pipeline from a channel and tells it the time.
pub struct Engine {
    pipeline: Pipeline<EngineSink>,
    host: String,
    clock: Clock,
    clock_minus_unix_ns: i64,
    snapshot: SharedSnapshot,
    next_snapshot: Instant,
    next_flush: Instant,
    next_meta: Instant,
    /// Refused sources that the log has.
    refused_told: usize,
}

impl Engine {
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
            clock_minus_unix_ns: clock_minus_unix_ns(clock),
            snapshot,
            next_snapshot: now,
            next_flush: now,
            next_meta: now + META,
            refused_told: 0,
        }
    }

    /// Works until every sender is gone, then finishes everything.
    ///
    /// # Errors
    /// When a sink of rows could not be completed.
    pub fn run(mut self, inputs: &Receiver<Input>) -> anyhow::Result<Stats> {
        loop {
            let input = inputs.recv_timeout(TICK);
            self.clock_minus_unix_ns = clock_minus_unix_ns(self.clock);
            match input {
                Ok(input) => self.input(input),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let unix_minus_rx_ns = self.clock_minus_unix_ns.wrapping_neg();
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
                let offset = self.clock_minus_unix_ns;
                self.pipeline.sink_mut().datagrams += batch.len() as u64;
                self.pipeline
                    .push_datagrams(batch.datagrams(offset, now_ns), |sink, e| {
                        if let Some(n) = sink.malformed.get_mut(e.index()) {
                            *n += 1;
                        }
                    });
            }
            Input::HostEvents { host, events } => {
                self.pipeline.push_events(&host, events);
            }
            Input::Events(events) => {
                self.pipeline.push_events(&self.host, events);
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
        }
    }

    /// Says once of each source that its reports are refused.
    fn tell_refused(&mut self) {
        let sources = self.pipeline.refused_sources();
        for s in sources.iter().skip(self.refused_told) {
            let (exporter, node_id) = (s.exporter, s.node_id);
            match s.reason {
                RefusalReason::UnknownNode => tracing::warn!(
                    %exporter,
                    node_id,
                    "reports are refused: the configuration has no [nodes.{node_id}]"
                ),
                RefusalReason::UnknownExporter => tracing::warn!(
                    %exporter,
                    node_id,
                    "reports are refused: nodes.{node_id}.exporters does not name {exporter}"
                ),
                RefusalReason::NoTag => tracing::warn!(
                    %exporter,
                    node_id,
                    "reports are refused: they have no tag, and nodes.{node_id}.key_file asks for one"
                ),
                RefusalReason::WrongTag => tracing::warn!(
                    %exporter,
                    node_id,
                    "reports are refused: their tag is not of the key in nodes.{node_id}.key_file"
                ),
            }
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
            packets_waiting: packets_waiting as u64,
            samples_held: samples_held as u64,
            refused_sources: self.pipeline.refused_sources().to_vec(),
        });
    }

    fn tell_standing(&mut self) {
        let standing = Standing {
            clocks: self.pipeline.clocks(),
            stats: self.pipeline.stats(),
        };
        self.pipeline.sink_mut().standing(&standing);
    }
}

/// Takes what has gathered meanwhile, up to a bound; true when that was all.
fn input_is_idle(inputs: &Receiver<Input>, engine: &mut Engine) -> bool {
    for _ in 0..64 {
        match inputs.try_recv() {
            Ok(input) => engine.input(input),
            Err(_) => return true,
        }
    }
    false
}
