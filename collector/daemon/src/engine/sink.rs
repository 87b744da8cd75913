// SPDX-License-Identifier: Apache-2.0
//! Sink of the engine's results: updates go to the hub, rows to a list of sinks.

use super::row_sink::{RowSink, Standing, finish_all};
use crate::hub::Hub;
use crate::shards::ShardPart;
use crate::source::SourceCounters;
use int_report::{DecodeError, FlowKey};
use std::sync::Arc;
use tidemark_capture::Reception;
use tidemark_pipeline::{Event, EventRow, PostcardRow, ProbeRow, Sink};
use tidemark_proto::telemetry::{CollectorStatus, Update};

/// Rows per call of a sink: enough to make a dynamic call cheap, and few enough to stay in the
/// core's own caches.
const BATCH_ROWS: usize = 64;

/// Gathers rows and hands them to every sink.
pub struct EngineSink {
    sinks: Vec<Box<dyn RowSink>>,
    hub: Arc<Hub>,
    counters: Arc<SourceCounters>,
    /// Set if this is the sink of one of several pipelines.
    part: Option<ShardPart>,
    postcards: Vec<PostcardRow>,
    probes: Vec<ProbeRow>,
    pub(super) datagrams: u64,
    pub(super) malformed: [u64; DecodeError::LABELS.len()],
}

impl EngineSink {
    /// Creates a sink that hands rows to `sinks` in their order. `part` is set if the pipeline is
    /// one of several.
    pub fn new(
        sinks: Vec<Box<dyn RowSink>>,
        hub: Arc<Hub>,
        counters: Arc<SourceCounters>,
        part: Option<ShardPart>,
    ) -> Self {
        Self {
            sinks,
            hub,
            counters,
            part,
            postcards: Vec::with_capacity(BATCH_ROWS),
            probes: Vec::with_capacity(BATCH_ROWS),
            datagrams: 0,
            malformed: [0; DecodeError::LABELS.len()],
        }
    }

    /// Passes on the rows buffered here. Each kind keeps its order; `order` gives the order across
    /// kinds.
    fn hand_on(&mut self) {
        for sink in &mut self.sinks {
            sink.rows(&self.postcards, &self.probes);
        }
        self.postcards.clear();
        self.probes.clear();
    }

    /// Passes on all buffered rows, here and in the sinks.
    pub fn flush(&mut self) {
        self.hand_on();
        for sink in &mut self.sinks {
            sink.flush();
        }
    }

    pub(super) fn set_unix_offset(&mut self, unix_minus_rx_ns: i64) {
        for sink in &mut self.sinks {
            sink.set_unix_offset(unix_minus_rx_ns);
        }
    }

    /// Returns this engine's datagrams, and the losses of the whole collector.
    pub(super) fn reception(&self) -> Reception {
        Reception {
            datagrams: self.datagrams,
            malformed: self.malformed.iter().sum(),
            kernel_drops: self.counters.sockets().kernel_drops,
            probe_lost: self.counters.probe().lost,
        }
    }

    pub(super) fn standing(&mut self, standing: &Standing) {
        for sink in &mut self.sinks {
            sink.standing(standing);
        }
    }

    /// Announces again which flows this pipeline knows, if it is one of several; with `rotate`, the
    /// first pipeline also forgets old flows.
    pub(super) fn say_flows<'a>(&self, flows: impl Iterator<Item = &'a FlowKey>, rotate: bool) {
        let Some(part) = &self.part else { return };
        if rotate && part.index == 0 {
            part.flows.rotate();
        }
        for key in flows {
            part.flows.set(key, part.index);
        }
    }

    /// Completes every sink, even after one has failed.
    pub(super) fn finish(self) -> anyhow::Result<()> {
        finish_all(self.sinks)
    }
}

impl Sink for EngineSink {
    fn postcard(&mut self, row: &PostcardRow) {
        self.postcards.push(*row);
        if self.postcards.len() >= BATCH_ROWS {
            self.hand_on();
        }
    }

    fn probe(&mut self, row: &ProbeRow) {
        self.probes.push(*row);
        if self.probes.len() >= BATCH_ROWS {
            self.hand_on();
        }
    }

    fn event(&mut self, row: &EventRow) {
        // An event may name the host of the samples that follow it.
        self.hand_on();
        if let (Some(part), Event::Flow(flow)) = (&self.part, &row.event) {
            part.flows.set(&flow.key, part.index);
        }
        for sink in &mut self.sinks {
            sink.event(row);
        }
    }

    fn update(&mut self, update: Update) {
        self.hub.publish(update);
    }

    fn status(&mut self, status: &mut CollectorStatus) {
        let reception = self.reception();
        status.datagrams_received = Some(reception.datagrams);
        status.datagrams_malformed = Some(reception.malformed);
        if let Some(part) = &self.part {
            *status = part.statuses.replace(part.index, status);
        }
        status.kernel_drops = Some(reception.kernel_drops);
        status.probe_lost = Some(reception.probe_lost);
        for sink in &self.sinks {
            sink.status(status);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[derive(Clone, Default)]
    struct Orders(Arc<Mutex<Vec<u64>>>);

    impl Orders {
        fn add(&self, orders: impl Iterator<Item = u64>) {
            self.0.lock().unwrap().extend(orders);
        }
    }

    impl RowSink for Orders {
        fn rows(&mut self, postcards: &[PostcardRow], probes: &[ProbeRow]) {
            self.add(postcards.iter().map(|r| r.order));
            self.add(probes.iter().map(|r| r.order));
        }
        fn event(&mut self, row: &EventRow) {
            self.add(std::iter::once(row.order));
        }
        fn finish(self: Box<Self>) -> anyhow::Result<()> {
            anyhow::bail!("{} rows", self.0.lock().unwrap().len())
        }
    }

    #[test]
    fn every_sink_gets_every_row_and_events_after_what_came_before_them() {
        let (a, b) = (Orders::default(), Orders::default());
        let mut sink = EngineSink::new(
            vec![Box::new(a.clone()), Box::new(b.clone())],
            Arc::new(Hub::new(10)),
            Arc::new(SourceCounters::default()),
            None,
        );
        for order in 0..300 {
            match order % 30 {
                29 => sink.event(&EventRow {
                    order,
                    event: Event::Watermark {
                        node_id: 1,
                        time_ns: order,
                    },
                }),
                n if n % 2 == 0 => sink.postcard(&PostcardRow {
                    order,
                    ..PostcardRow::default()
                }),
                _ => sink.probe(&ProbeRow {
                    order,
                    ..ProbeRow::default()
                }),
            }
        }
        sink.flush();
        let mut seen = a.0.lock().unwrap().clone();
        assert_eq!(seen, *b.0.lock().unwrap());
        for (event, position) in (29..300).step_by(30).zip((29..300).step_by(30)) {
            assert_eq!(seen[position], event as u64);
        }
        seen.sort_unstable();
        assert_eq!(seen, (0..300).collect::<Vec<u64>>());
        assert_eq!(sink.finish().unwrap_err().to_string(), "300 rows");
    }
}
