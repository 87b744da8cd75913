// SPDX-License-Identifier: Apache-2.0
//! The one thread between receivers and everything that takes results.

mod sink;

pub use sink::EngineSink;

use crate::source::Batch;
use crate::time::{clock_minus_unix_ns, unix_ns};
use int_report::DecodeError;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tcp_probe::perf::Clock;
use tidemark_capture::{CaptureError, ClockMeta};
use tidemark_pipeline::{Datagram, Pipeline, Stats};

/// How often time is told to the pipeline when nothing comes.
const TICK: Duration = Duration::from_millis(20);
/// How often counters are made visible.
const SNAPSHOT: Duration = Duration::from_millis(200);
/// How often `capture.json` is renewed.
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
    pub stats: Stats,
    pub datagrams: u64,
    /// By [`DecodeError::LABELS`].
    pub malformed: [u64; DecodeError::LABELS.len()],
    pub flows_active: u64,
    pub packets_waiting: u64,
    pub samples_held: u64,
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

    fn set(&self, snapshot: Snapshot) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = snapshot;
    }
}

/// See the module.
pub struct Engine {
    pipeline: Pipeline<EngineSink>,
    host: String,
    clock: Clock,
    clock_minus_unix_ns: i64,
    snapshot: SharedSnapshot,
    next_snapshot: Instant,
    next_flush: Instant,
    next_meta: Instant,
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
        }
    }

    /// Works until every sender is gone, then finishes everything.
    ///
    /// # Errors
    /// When the capture could not be completed.
    pub fn run(mut self, inputs: &Receiver<Input>) -> Result<Stats, CaptureError> {
        loop {
            let input = inputs.recv_timeout(TICK);
            self.clock_minus_unix_ns = clock_minus_unix_ns(self.clock);
            match input {
                Ok(input) => self.input(input),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.pipeline
                .set_unix_offset(self.clock_minus_unix_ns.wrapping_neg());
            if let Some(c) = &mut self.pipeline.sink_mut().clickhouse {
                c.set_unix_offset(self.clock_minus_unix_ns.wrapping_neg());
            }
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
        self.renew_meta();
        let mut sink = self.pipeline.into_sink();
        sink.hub.close();
        let captured = match sink.capture.take() {
            Some(capture) => capture.finish(unix_ns()).map(|_| ()),
            None => Ok(()),
        };
        if let Some(clickhouse) = sink.clickhouse.take() {
            clickhouse.finish();
        }
        captured?;
        Ok(stats)
    }

    fn input(&mut self, input: Input) {
        match input {
            Input::Reports(batch) => {
                let offset = self.clock_minus_unix_ns;
                self.pipeline.sink_mut().datagrams += batch.len() as u64;
                let datagrams = batch.datagrams().map(|d| Datagram {
                    exporter: d.exporter,
                    rx_ns: d.rx_unix_ns.saturating_add_signed(offset),
                    payload: d.payload,
                });
                self.pipeline.push_datagrams(datagrams, |sink, e| {
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
        }
        if now >= self.next_meta {
            self.next_meta = now + META;
            self.renew_meta();
            if let Some(c) = &mut self.pipeline.sink_mut().capture {
                c.write_meta();
            }
        }
    }

    fn publish_snapshot(&self) {
        let (packets_waiting, samples_held) = self.pipeline.waiting();
        let sink = self.pipeline.sink();
        self.snapshot.set(Snapshot {
            stats: self.pipeline.stats(),
            datagrams: sink.datagrams,
            malformed: sink.malformed,
            flows_active: self.pipeline.flows_active() as u64,
            packets_waiting: packets_waiting as u64,
            samples_held: samples_held as u64,
        });
    }

    fn renew_meta(&mut self) {
        let clocks: Vec<ClockMeta> = self.pipeline.clocks().iter().map(Into::into).collect();
        let stats = self.pipeline.stats();
        if let Some(c) = &mut self.pipeline.sink_mut().capture {
            let lost = c.stats().lost();
            let meta = c.meta_mut();
            meta.clocks = clocks;
            meta.stats = Some(stats);
            meta.rows_lost = lost;
        }
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
