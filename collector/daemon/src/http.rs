// SPDX-License-Identifier: Apache-2.0
//! `/metrics` (Prometheus), `/status` (JSON), `/healthz`.

use crate::engine::{SharedSnapshot, Snapshot};
use crate::hub::{Hub, SubscriberStatus};
use crate::packets::PacketMemory;
use crate::source::SourceCounters;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};
use int_report::{DecodeError, InnerError};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
use serde::Serialize;
use std::fmt;
use std::sync::Arc;
use tidemark_capture::WriterStats;
use tidemark_proto::telemetry::ClockMapping;

/// Everything the HTTP server shows.
#[derive(Clone)]
pub struct Shown {
    pub version: &'static str,
    pub instance: String,
    pub snapshot: SharedSnapshot,
    pub counters: Arc<SourceCounters>,
    pub hub: Arc<Hub>,
    pub packets: Arc<PacketMemory>,
    pub capture: Option<(String, WriterStats)>,
}

/// The answer of `/status`.
#[derive(Debug, Serialize)]
pub struct Status {
    pub version: String,
    pub instance: String,
    pub reports: ReportStatus,
    pub join: JoinStatus,
    pub tcp_probe: ProbeStatus,
    pub flows: FlowStatus,
    pub clocks: Vec<crate::import::ClockReport>,
    pub capture: Option<CaptureStatus>,
    pub subscribers: Vec<SubscriberStatus>,
    pub updates_lost: u64,
    pub packets_in_memory: usize,
    /// Every counter of the pipeline.
    pub pipeline: tidemark_pipeline::Stats,
}

#[derive(Debug, Serialize)]
pub struct ReportStatus {
    pub datagrams: u64,
    pub received: u64,
    pub lost: u64,
    pub late: u64,
    pub duplicate: u64,
    pub malformed: u64,
    pub kernel_drops: u64,
}

#[derive(Debug, Serialize)]
pub struct JoinStatus {
    pub candidates: u64,
    pub matched: u64,
    pub by_sequence: u64,
    pub by_time: u64,
    pub matched_fraction: f64,
    pub waiting: u64,
}

#[derive(Debug, Serialize)]
pub struct ProbeStatus {
    pub events: u64,
    pub lost: u64,
    pub filtered: u64,
    pub malformed: u64,
}

#[derive(Debug, Serialize)]
pub struct FlowStatus {
    pub active: u64,
    pub seen: u64,
    pub evicted: u64,
}

#[derive(Debug, Serialize)]
pub struct CaptureStatus {
    pub dir: String,
    pub rows: u64,
    pub rows_lost: u64,
    pub failure: Option<String>,
}

impl JoinStatus {
    pub fn new(s: &tidemark_pipeline::Stats, waiting: u64) -> Self {
        Self {
            candidates: s.join_candidates,
            matched: s.join_matched(),
            by_sequence: s.join_by_sequence,
            by_time: s.join_by_time,
            matched_fraction: s.matched_fraction(),
            waiting,
        }
    }
}

impl ReportStatus {
    pub fn new(s: &Snapshot, kernel_drops: u64) -> Self {
        Self {
            datagrams: s.datagrams,
            received: s.stats.reports,
            lost: s.stats.reports_lost,
            late: s.stats.reports_late,
            duplicate: s.stats.reports_duplicate,
            malformed: s.malformed_total(),
            kernel_drops,
        }
    }
}

impl Shown {
    fn status(&self) -> Status {
        let s = self.snapshot.get();
        let [events, lost, filtered, malformed] = self.counters.probe();
        Status {
            version: self.version.to_owned(),
            instance: self.instance.clone(),
            reports: ReportStatus::new(&s, self.counters.kernel_drops()),
            join: JoinStatus::new(&s.stats, s.packets_waiting),
            tcp_probe: ProbeStatus {
                events,
                lost,
                filtered,
                malformed,
            },
            flows: FlowStatus {
                active: s.flows_active,
                seen: s.stats.flows,
                evicted: s.stats.flows_evicted,
            },
            clocks: self.hub.clocks().iter().map(Into::into).collect(),
            capture: self.capture.as_ref().map(|(dir, w)| CaptureStatus {
                dir: dir.clone(),
                rows: w.written(),
                rows_lost: w.lost(),
                failure: w.failure(),
            }),
            subscribers: self.hub.subscribers(),
            updates_lost: self.hub.lost(),
            packets_in_memory: self.packets.len(),
            pipeline: s.stats,
        }
    }
}

#[derive(Clone)]
struct App {
    shown: Shown,
    registry: Arc<Registry>,
}

/// The routes.
pub fn router(shown: Shown) -> Router {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Metrics(shown.clone())));
    Router::new()
        .route("/metrics", get(metrics))
        .route(
            "/status",
            get(|State(a): State<App>| async move { Json(a.shown.status()) }),
        )
        .route("/healthz", get(|| async { "ok\n" }))
        .with_state(App {
            shown,
            registry: Arc::new(registry),
        })
}

async fn metrics(State(app): State<App>) -> impl IntoResponse {
    let mut text = String::new();
    match encode(&mut text, &app.registry) {
        Ok(()) => (
            [(
                CONTENT_TYPE,
                "application/openmetrics-text; version=1.0.0; charset=utf-8",
            )],
            text,
        )
            .into_response(),
        Err(e) => (axum::http::StatusCode::INTERNAL_SERVER_ERROR, e.to_string()).into_response(),
    }
}

struct Metrics(Shown);

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

fn counter(
    e: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    value: u64,
) -> Result<(), fmt::Error> {
    let name = full(name);
    let metric = ConstCounter::new(value);
    let encoder = e.encode_descriptor(&name, help, None, metric.metric_type())?;
    metric.encode(encoder)
}

fn labelled(
    e: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    values: impl Iterator<Item = (&'static str, u64)>,
) -> Result<(), fmt::Error> {
    let name = full(name);
    let mut family = e.encode_descriptor(&name, help, None, MetricType::Counter)?;
    for (reason, value) in values {
        ConstCounter::new(value).encode(family.encode_family(&[("reason", reason)])?)?;
    }
    Ok(())
}

fn gauge(
    e: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    unit: Option<&Unit>,
    value: f64,
) -> Result<(), fmt::Error> {
    let name = full(name);
    let metric = ConstGauge::new(value);
    let encoder = e.encode_descriptor(&name, help, unit, metric.metric_type())?;
    metric.encode(encoder)
}

fn clocks(
    e: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    clocks: &[ClockMapping],
    value: fn(&ClockMapping) -> f64,
) -> Result<(), fmt::Error> {
    let name = full(name);
    let mut family = e.encode_descriptor(&name, help, None, MetricType::Gauge)?;
    for c in clocks {
        let labels = [("node", c.node_id.to_string()), ("host", c.host.clone())];
        ConstGauge::new(value(c)).encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}

fn full(name: &str) -> String {
    format!("tidemark_collector_{name}")
}

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let e = &mut encoder;
        let shown = &self.0;
        let s = shown.snapshot.get();
        counter(e, "datagrams", "UDP datagrams received", s.datagrams)?;
        labelled(
            e,
            "datagrams_malformed",
            "Datagrams that could not be decoded to their end",
            DecodeError::LABELS.into_iter().zip(s.malformed),
        )?;
        counter(
            e,
            "kernel_drops",
            "Datagrams that found the socket's buffer full",
            shown.counters.kernel_drops(),
        )?;
        let sockets = shown.counters.sockets();
        counter(
            e,
            "receive_calls",
            "System calls that brought datagrams",
            sockets.batches,
        )?;
        counter(
            e,
            "receive_messages",
            "Messages of the kernel: single or coalesced datagrams",
            sockets.messages,
        )?;
        counter(e, "receive_bytes", "UDP payload received", sockets.bytes)?;
        counter(
            e,
            "receive_errors",
            "Failed system calls of the receiver",
            sockets.errors,
        )?;
        let [events, lost, filtered, malformed] = shown.counters.probe();
        counter(e, "probe_events", "Tracepoint events read", events)?;
        counter(
            e,
            "probe_lost",
            "Tracepoint events that found the ring full",
            lost,
        )?;
        counter(
            e,
            "probe_filtered",
            "Tracepoint events left out by the filter",
            filtered,
        )?;
        counter(
            e,
            "probe_malformed",
            "Tracepoint records not understood",
            malformed,
        )?;
        labelled(
            e,
            "inner_errors_by_reason",
            "Reports whose inner packet cannot be read",
            InnerError::LABELS.into_iter().zip(s.stats.inner_errors),
        )?;
        for (name, value) in s.stats.named() {
            counter(e, name, "See tidemark_pipeline::Stats", value)?;
        }
        if let Some((_, w)) = &shown.capture {
            counter(
                e,
                "capture_rows",
                "Rows written to the capture",
                w.written(),
            )?;
            counter(
                e,
                "capture_rows_lost",
                "Rows the capture could not take",
                w.lost(),
            )?;
            let failed = f64::from(u8::from(w.failure().is_some()));
            gauge(
                e,
                "capture_failed",
                "1 after the capture stopped on an error",
                None,
                failed,
            )?;
        }
        counter(
            e,
            "updates_lost",
            "Updates that found a subscriber's queue full",
            shown.hub.lost(),
        )?;
        let count = |n: usize| n as f64;
        gauge(
            e,
            "subscribers",
            "Subscribers of the telemetry stream",
            None,
            count(shown.hub.subscribers().len()),
        )?;
        gauge(
            e,
            "flows_active",
            "Flows remembered",
            None,
            s.flows_active as f64,
        )?;
        gauge(
            e,
            "packets_waiting",
            "Packets waiting for a sample",
            None,
            s.packets_waiting as f64,
        )?;
        gauge(
            e,
            "samples_held",
            "Samples held back",
            None,
            s.samples_held as f64,
        )?;
        gauge(
            e,
            "packets_in_memory",
            "Packets kept for zooming",
            None,
            count(shown.packets.len()),
        )?;
        gauge(
            e,
            "join_matched",
            "Matched part of the data packets of probed flows",
            Some(&Unit::Ratios),
            s.stats.matched_fraction(),
        )?;
        clocks(
            e,
            "clock_offset_seconds",
            "Host clock less node clock",
            &shown.hub.clocks(),
            |c| c.offset_ns as f64 / 1e9,
        )?;
        clocks(
            e,
            "clock_drift_ppm",
            "Drift of the host clock against the node's",
            &shown.hub.clocks(),
            |c| c.drift_ppb / 1e3,
        )?;
        Ok(())
    }
}
