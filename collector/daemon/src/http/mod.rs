// SPDX-License-Identifier: Apache-2.0
//! `/metrics` (Prometheus), `/status` (JSON), `/healthz`.

mod clickhouse;
mod encode;
mod metrics;

use crate::agent::{AgentStatus, Agents};
use crate::engine::SharedSnapshot;
use crate::hub::{Hub, SubscriberStatus};
use crate::packets::PacketMemory;
use crate::source::SourceCounters;
use crate::status::{ClockReport, JoinStatus, ReportStatus};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};
use metrics::Exporter;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde::Serialize;
use std::sync::Arc;
use tidemark_capture::WriterStats;

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
    pub agents: Option<Agents>,
    pub clickhouse: Option<tidemark_clickhouse::SinkStats>,
}

/// The answer of `/status`.
#[derive(Debug, Serialize)]
pub struct Status {
    pub version: String,
    pub instance: String,
    pub reports: ReportStatus,
    pub join: JoinStatus,
    pub tcp_probe: ProbeStatus,
    /// Hosts whose agents have sent.
    pub agents: Vec<AgentStatus>,
    pub flows: FlowStatus,
    pub clocks: Vec<ClockReport>,
    pub capture: Option<CaptureStatus>,
    pub clickhouse: Option<clickhouse::ClickHouseStatus>,
    pub subscribers: Vec<SubscriberStatus>,
    pub updates_lost: u64,
    pub packets_in_memory: usize,
    /// Every counter of the pipeline.
    pub pipeline: tidemark_pipeline::Stats,
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

impl Shown {
    pub(crate) fn status(&self) -> Status {
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
            agents: self.agents.as_ref().map(Agents::status).unwrap_or_default(),
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
            clickhouse: self.clickhouse.as_ref().map(Into::into),
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
    registry.register_collector(Box::new(Exporter(shown.clone())));
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
