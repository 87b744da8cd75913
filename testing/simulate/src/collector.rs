// SPDX-License-Identifier: Apache-2.0
//! One start of the collector, with the real pipeline and hub.

use crate::digest::Digest;
use crate::frame::{BOTTLENECK, EXPORTER, NODE};
use crate::parts::subscriber::Subscriber;
use crate::stores::Stores;
use anyhow::Result;
use int_report::DecodeError;
use std::collections::HashSet;
use std::sync::Arc;
use tidemark_collector::hub::Hub;
use tidemark_collector::reception_clock::ReceptionClock;
use tidemark_collector::source::Batch;
use tidemark_pipeline::{
    Config, Event, EventRow, Pipeline, PostcardRow, ProbeRow, Sink, UnknownNodes, proto_nodes,
};
use tidemark_proto::telemetry::{CollectorInfo, CollectorStatus, Update};

/// Capacity of the flow table: more flows than any run has.
pub(crate) const MAX_FLOWS: usize = 64;
/// Length of an interval record, ms.
pub(crate) const INTERVAL_MS: u32 = 20;

/// Rows and counts that the sink has received since a start.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) postcards: u64,
    pub(crate) postcards_dropped: u64,
    /// Rows since the store's last look.
    pub(crate) rows: Vec<PostcardRow>,
    /// Rows by stream, number and time, to find duplicates.
    known: HashSet<(u8, u32, u64)>,
    pub(crate) doubled: Option<PostcardRow>,
    /// `order` of the next row.
    next_order: u64,
    pub(crate) out_of_order: bool,
    /// Packets that the rows stand for.
    pub(crate) stand_for: u64,
    /// Sums over the interval records, including those of ports that only a changed datagram names.
    pub(crate) arrivals: u64,
    pub(crate) drops: u64,
    pub(crate) packets: u64,
    pub(crate) lost: u64,
    /// Sum of `lost_before` over the rows.
    pub(crate) lost_before: i64,
    pub(crate) malformed: u64,
    /// Number of restarts of the node's clock.
    pub(crate) clock_restarts: u64,
    pub(crate) datagrams: u64,
}

/// The pipeline's sink.
pub(crate) struct SimSink {
    hub: Arc<Hub>,
    /// `None` once they have ended.
    pub(crate) stores: Option<Stores>,
    pub(crate) seen: Seen,
    pub(crate) digest: Digest,
}

impl SimSink {
    fn order(&mut self, order: u64) {
        self.seen.out_of_order |= order != self.seen.next_order;
        self.seen.next_order = order + 1;
    }
}

impl Sink for SimSink {
    fn postcard(&mut self, row: &PostcardRow) {
        self.order(row.order);
        if let Some(stores) = &mut self.stores {
            stores.postcard(row);
        }
        let s = &mut self.seen;
        s.postcards += 1;
        s.postcards_dropped += u64::from(row.dropped);
        s.stand_for += if row.dropped {
            1
        } else {
            1 << row.sampling_shift
        };
        s.lost_before += i64::from(row.lost_before);
        if !s.known.insert((row.hw_id, row.sequence, row.ingress_ns)) {
            s.doubled = Some(*row);
        }
        s.rows.push(*row);
        self.digest.add(row.ingress_ns ^ u64::from(row.sequence));
        self.digest
            .add(row.egress_ns ^ row.flow_id ^ (u64::from(row.cwnd) << 32));
    }

    fn probe(&mut self, row: &ProbeRow) {
        self.order(row.order);
        if let Some(stores) = &mut self.stores {
            stores.probe(row);
        }
    }

    fn event(&mut self, row: &EventRow) {
        self.order(row.order);
        let restart = matches!(row.event, Event::Restart { .. });
        self.seen.clock_restarts += u64::from(restart);
        if let Some(stores) = &mut self.stores {
            stores.event(row);
        }
    }

    fn update(&mut self, update: Update) {
        for i in &update.link_intervals {
            // Every drop is reported; other reports stand for several packets.
            let each = 1u64 << i.sampling_shift;
            let others = u64::from(i.arrivals) - u64::from(i.drops);
            self.seen.arrivals += others * each + u64::from(i.drops);
            self.seen.drops += u64::from(i.drops);
            self.seen.packets += u64::from(i.packets) * each;
            self.seen.lost += u64::from(i.reports_lost);
            self.digest.add(i.start_ns ^ u64::from(i.arrivals));
        }
        self.hub.publish(update);
    }

    fn status(&mut self, status: &mut CollectorStatus) {
        status.datagrams_received = Some(self.seen.datagrams);
        status.datagrams_malformed = Some(self.seen.malformed);
    }
}

/// A start of the collector.
pub(crate) struct Collector {
    pub(crate) pipeline: Pipeline<SimSink>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) instance: u64,
    /// A subscriber that rarely reads.
    pub(crate) slow: Subscriber,
    reception: Option<ReceptionClock>,
}

/// Returns the configuration of every start.
///
/// # Errors
/// The configuration rejects a port.
pub(crate) fn config(rate_bps: u64) -> Result<Config> {
    let node = serde_json::from_value(serde_json::json!({
        "name": "simulated",
        "exporters": [EXPORTER],
        "ports": { BOTTLENECK.to_string(): { "capacity_bps": rate_bps } },
    }))?;
    Ok(Config {
        nodes: [(NODE, node)].into(),
        unknown_nodes: UnknownNodes::Refuse,
        interval_ms: INTERVAL_MS,
        join_wait_ms: 300,
        publish_ms: INTERVAL_MS,
        local_host: Some("sender".into()),
        max_flows: MAX_FLOWS,
        ..Config::default()
    })
}

impl Collector {
    /// # Errors
    /// The pipeline rejects the configuration.
    pub(crate) fn start(instance: u64, config: Config, stores: Stores) -> Result<Self> {
        let hub = Arc::new(Hub::new(MAX_FLOWS));
        let sink = SimSink {
            hub: Arc::clone(&hub),
            stores: Some(stores),
            seen: Seen::default(),
            digest: Digest::default(),
        };
        let slow = Subscriber::new(hub.subscribe("slow", None)?);
        Ok(Self {
            slow,
            pipeline: Pipeline::new(config, sink)?,
            hub,
            instance,
            reception: None,
        })
    }

    /// Returns the answer to a new subscriber.
    pub(crate) fn info(&self) -> CollectorInfo {
        let config = self.pipeline.config();
        CollectorInfo {
            version: "simulated".into(),
            instance: self.instance.to_string(),
            interval_ms: config.interval_ms,
            nodes: proto_nodes(&config.nodes),
            capture_dir: String::new(),
        }
    }

    /// Processes a batch from the socket.
    pub(crate) fn receive(&mut self, batch: &Batch, clock_minus_unix_ns: i64, now_ns: u64) {
        let unset = ReceptionClock::new(clock_minus_unix_ns);
        let clock = self.reception.get_or_insert(unset);
        clock.observe(clock_minus_unix_ns, now_ns);
        let datagrams = batch.datagrams(*clock, now_ns);
        self.pipeline.sink_mut().seen.datagrams += batch.len() as u64;
        self.pipeline.hand_over(now_ns);
        self.pipeline
            .push_datagrams(datagrams, |sink: &mut SimSink, _: DecodeError| {
                sink.seen.malformed += 1;
            });
    }

    /// Returns the rows and counts that its sink has received.
    pub(crate) fn seen(&self) -> &Seen {
        &self.pipeline.sink().seen
    }
}
