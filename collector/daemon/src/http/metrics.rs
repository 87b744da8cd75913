// SPDX-License-Identifier: Apache-2.0
//! Every stage's counters, for Prometheus.

use super::status::Shown;
use crate::agent::AgentStatus;
use crate::link_histograms::{DELAY_NS, Distribution, LinkHistograms, OCCUPANCY_BYTES, OfLink};
use daemon_kit::metrics;
use daemon_kit::metrics::encode::{self, all, family, histograms};
use daemon_kit::metrics::exposition::BUILD_INFO;
use daemon_kit::metrics::{MetricDoc, Metrics, Number};
use int_report::DecodeError;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use std::fmt;
use tidemark_clickhouse::SinkMetrics;
use tidemark_pipeline::Stats;
use tidemark_proto::ShownPort;
use tidemark_proto::telemetry::ClockMapping;

/// Reads the counters at each scrape.
pub(super) struct Exporter(pub Shown);

impl fmt::Debug for Exporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Exporter")
    }
}

metrics! {
    /// Counters of the daemon around the pipeline.
    #[derive(Debug)]
    pub struct DaemonMetrics {
        /// UDP datagrams received.
        counter datagrams: u64,
        /// Datagrams that could not be decoded to their end.
        counter datagrams_malformed: [u64; DecodeError::LABELS.len()]
            => "reason" in DecodeError::LABELS,
        /// Datagrams dropped because the socket's buffer was full.
        counter kernel_drops: u64,
        /// System calls that returned datagrams.
        counter receive_calls: u64,
        /// Messages from the kernel: single or coalesced datagrams.
        counter receive_messages: u64,
        /// UDP payload bytes received.
        counter receive_bytes: u64,
        /// Failed system calls of the receiver.
        counter receive_errors: u64,
        /// Tracepoint events read.
        counter probe_events: u64,
        /// Tracepoint events dropped because the ring was full.
        counter probe_lost: u64,
        /// Minimum number of tracepoint events that the kernel counted but did not record.
        counter probe_unrecorded: u64,
        /// Tracepoint events left out by the filter.
        counter probe_filtered: u64,
        /// Tracepoint records that could not be decoded.
        counter probe_malformed: u64,
        /// Events received from agents.
        counter agent_events: u64,
        /// Events from agents that could not be decoded.
        counter agent_events_malformed: u64,
        /// Events lost in the rings of agents' kernels.
        counter agent_ring_lost: u64,
        /// Events that agents dropped because their buffers were full.
        counter agent_buffer_lost: u64,
        /// Batches from agents that never arrived.
        counter agent_batches_missing: u64,
        /// Batches from agents that were received again.
        counter agent_batches_repeated: u64,
        /// Reports whose inner packet cannot be read.
        counter inner_errors: u64,
        /// Rows written to the capture.
        counter capture_rows: Option<u64>,
        /// Rows that the capture could not store.
        counter capture_rows_lost: Option<u64>,
        /// 1 after the capture stopped on an error.
        gauge capture_failed: Option<bool>,
        /// Calls to the gRPC server refused because the token was missing or wrong.
        counter grpc_calls_refused: [u64; 2] => "reason" in ["no_token", "wrong_token"],
        /// TLS handshakes of the HTTP server that failed or did not end within 10 s.
        counter http_handshakes_failed: Option<u64>,
        /// Updates dropped because a subscriber's queue was full.
        counter updates_lost: u64,
        /// Subscribers of the telemetry stream.
        gauge subscribers: usize,
        /// Flows remembered.
        gauge flows_active: u64,
        /// Memory used for the segments that flows remember.
        gauge segment_memory_bytes: usize,
        /// Packets waiting for a sample.
        gauge packets_waiting: u64,
        /// Samples held back until the reports of their packets have arrived.
        gauge samples_held: u64,
        /// Packets kept for zooming.
        gauge packets_in_memory: usize,
        /// Memory used for packets kept for zooming.
        gauge packet_memory_bytes: usize,
        /// Packets not kept for zooming, at ports beyond the limit on unconfigured ports.
        counter packets_not_kept: u64,
        /// Arrivals left out of the histograms, at ports beyond the limit on unconfigured ports.
        counter arrivals_not_counted: u64,
        /// Fraction of the data packets of probed flows that were matched.
        gauge join_matched_ratio: f64,
    }
}

const CLOCK_OFFSET: MetricDoc =
    MetricDoc::gauge("clock_offset_seconds", "Host clock minus node clock")
        .labels(&["node", "host"]);
const CLOCK_DRIFT: MetricDoc = MetricDoc::gauge(
    "clock_drift_ppm",
    "Drift of the host clock relative to the node clock",
)
.labels(&["node", "host"]);

const OCCUPANCY: MetricDoc = MetricDoc::histogram(
    "link_occupancy_bytes",
    "Queue occupancy at reported arrivals, including dropped packets",
)
.labels(&["node", "port", "queue"]);
const DELAY: MetricDoc = MetricDoc::histogram(
    "link_delay_seconds",
    "Queueing delay of reported packets that were not dropped",
)
.labels(&["node", "port", "queue"]);

/// Returns every metric of the daemon and the pipeline, for the documentation.
pub fn collector_docs() -> Vec<MetricDoc> {
    let mut docs = DaemonMetrics::DOCS.to_vec();
    docs.extend(Stats::DOCS);
    docs.extend([CLOCK_OFFSET, CLOCK_DRIFT, OCCUPANCY, DELAY, BUILD_INFO]);
    docs
}

/// Returns every metric of the ClickHouse sink, for the documentation.
pub fn clickhouse_docs() -> Vec<MetricDoc> {
    SinkMetrics::DOCS.to_vec()
}

impl Shown {
    fn daemon_metrics(&self, histograms: &LinkHistograms) -> DaemonMetrics {
        let s = self.snapshot.get();
        let kept = self.packets.kept();
        let sockets = self.counters.sockets();
        let probe = self.counters.probe();
        let agents = self.status().agents;
        let of_agents = |f: fn(&AgentStatus) -> u64| agents.iter().map(f).sum();
        let capture = self.capture.as_ref().map(|(_, writer)| writer);
        DaemonMetrics {
            datagrams: s.datagrams,
            datagrams_malformed: s.malformed,
            kernel_drops: sockets.kernel_drops,
            receive_calls: sockets.batches,
            receive_messages: sockets.messages,
            receive_bytes: sockets.bytes,
            receive_errors: sockets.errors,
            probe_events: probe.events,
            probe_lost: probe.lost,
            probe_unrecorded: probe.unrecorded,
            probe_filtered: probe.filtered,
            probe_malformed: probe.malformed,
            agent_events: of_agents(|a| a.events),
            agent_events_malformed: of_agents(|a| a.malformed),
            agent_ring_lost: of_agents(|a| a.ring_lost),
            agent_buffer_lost: of_agents(|a| a.buffer_lost),
            agent_batches_missing: of_agents(|a| a.missing),
            agent_batches_repeated: of_agents(|a| a.repeated),
            inner_errors: s.stats.inner_errors.iter().sum(),
            capture_rows: capture.map(|c| c.written()),
            capture_rows_lost: capture.map(|c| c.lost()),
            capture_failed: capture.map(|c| c.failure().is_some()),
            grpc_calls_refused: self.refusals.counts(),
            http_handshakes_failed: self.handshakes_failed.as_ref().map(|f| f.count()),
            updates_lost: self.hub.lost(),
            subscribers: self.hub.subscribers().len(),
            flows_active: s.flows_active,
            segment_memory_bytes: s.segment_memory_bytes,
            packets_waiting: s.packets_waiting,
            samples_held: s.samples_held,
            packets_in_memory: kept.packets,
            packet_memory_bytes: kept.bytes,
            packets_not_kept: kept.refused,
            arrivals_not_counted: histograms.refused,
            join_matched_ratio: s.stats.matched_fraction().unwrap_or(f64::NAN),
        }
    }
}

impl Collector for Exporter {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let e = &mut encoder;
        let shown = &self.0;
        let of_links = shown.hub.histograms();
        all(e, &shown.daemon_metrics(&of_links))?;
        all(e, &shown.snapshot.get().stats)?;
        if let Some(stats) = &shown.clickhouse {
            all(e, stats.metrics())?;
        }
        let mappings = shown.hub.clocks();
        let of_clocks = |value: fn(&ClockMapping) -> f64| {
            mappings.iter().map(move |c| {
                let labels = [("node", c.node_id.to_string()), ("host", c.host.clone())];
                (labels, Number::Real(value(c)))
            })
        };
        family(e, &CLOCK_OFFSET, of_clocks(|c| c.offset_ns as f64 / 1e9))?;
        family(e, &CLOCK_DRIFT, of_clocks(|c| c.drift_ppb / 1e3))?;
        distributions(e, &OCCUPANCY, &of_links, (&OCCUPANCY_BYTES, 1.0), |l| {
            &l.occupancy
        })?;
        distributions(e, &DELAY, &of_links, (&DELAY_NS, 1e9), |l| &l.delay)
    }
}

/// Encodes a histogram of every link. `per_unit`: number of counted units in one exported unit.
fn distributions(
    e: &mut DescriptorEncoder<'_>,
    doc: &MetricDoc,
    of_links: &LinkHistograms,
    (bounds, per_unit): (&[u64], f64),
    get: fn(&OfLink) -> &Distribution,
) -> fmt::Result {
    let bounds: Vec<f64> = bounds.iter().map(|&b| b as f64 / per_unit).collect();
    let values = of_links.links.iter().map(|((node, port, queue), link)| {
        let Distribution { counts, sum } = get(link);
        let labels = [
            ("node", node.to_string()),
            ("port", ShownPort(*port).to_string()),
            ("queue", queue.to_string()),
        ];
        let sum = *sum as f64 / per_unit;
        (labels, encode::Distribution { sum, counts })
    });
    histograms(e, doc, &bounds, values)
}
