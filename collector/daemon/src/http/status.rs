// SPDX-License-Identifier: Apache-2.0
//! What the HTTP server shows, and `/status`.

use super::clickhouse::ClickHouseStatus;
use crate::agent::{AgentStatus, Agents};
use crate::engine::SharedSnapshot;
use crate::hub::{Hub, SubscriberStatus};
use crate::packets::PacketMemory;
use crate::source::SourceCounters;
use crate::status::{ClockReport, JoinStatus, ReportStatus};
use serde::Serialize;
use std::sync::Arc;
use tidemark_capture::WriterStats;
use tidemark_credentials::Refusals;
use tidemark_credentials::http::HandshakesFailed;

/// Everything the HTTP server shows.
#[derive(Clone)]
pub struct Shown {
    pub version: &'static str,
    pub instance: String,
    pub snapshot: SharedSnapshot,
    pub counters: Arc<SourceCounters>,
    /// Calls of the gRPC server that showed no token, or a wrong one.
    pub refusals: Arc<Refusals>,
    /// Of the HTTP server, where it has TLS.
    pub handshakes_failed: Option<HandshakesFailed>,
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
    /// Where refused reports come from, the first sources.
    pub refused_sources: Vec<tidemark_pipeline::RefusedSource>,
    pub join: JoinStatus,
    pub tcp_probe: ProbeStatus,
    /// Hosts whose agents have sent.
    pub agents: Vec<AgentStatus>,
    pub flows: FlowStatus,
    pub clocks: Vec<ClockReport>,
    pub capture: Option<CaptureStatus>,
    pub clickhouse: Option<ClickHouseStatus>,
    pub subscribers: Vec<SubscriberStatus>,
    pub updates_lost: u64,
    pub packets_in_memory: usize,
    /// Of too many ports that the configuration does not name.
    pub packets_not_kept: u64,
    /// Every counter of the pipeline.
    pub pipeline: tidemark_pipeline::Stats,
}

#[derive(Debug, Serialize)]
pub struct ProbeStatus {
    pub events: u64,
    pub lost: u64,
    pub unrecorded: u64,
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
        let kept = self.packets.kept();
        let [events, lost, unrecorded, filtered, malformed] = self.counters.probe();
        Status {
            version: self.version.to_owned(),
            instance: self.instance.clone(),
            reports: ReportStatus::new(&s, self.counters.kernel_drops()),
            refused_sources: s.refused_sources,
            join: JoinStatus::new(&s.stats, s.packets_waiting),
            tcp_probe: ProbeStatus {
                events,
                lost,
                unrecorded,
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
            packets_in_memory: kept.packets,
            packets_not_kept: kept.refused,
            pipeline: s.stats,
        }
    }
}
