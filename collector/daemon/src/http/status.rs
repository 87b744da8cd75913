// SPDX-License-Identifier: Apache-2.0
//! State that the HTTP server shows, and `/status`.

use super::clickhouse::ClickHouseStatus;
use crate::account::{FrameAccount, RowAccount, SampleAccount};
use crate::agent::{AgentStatus, Agents};
use crate::engine::SharedSnapshot;
use crate::hub::{Hub, SubscriberStatus};
use crate::packets::PacketMemory;
use crate::source::SourceCounters;
use crate::status::{ClockReport, JoinStatus, ReportStatus};
use daemon_kit::credentials::Refusals;
use daemon_kit::credentials::http::HandshakesFailed;
use serde::Serialize;
use std::sync::Arc;
use tidemark_capture::WriterStats;

/// Everything the HTTP server shows.
#[derive(Clone)]
pub struct Shown {
    /// Version of this program.
    pub version: &'static str,
    /// Random name of this run.
    pub instance: String,
    /// Counters of the engine.
    pub snapshot: SharedSnapshot,
    /// Counters from before the engine.
    pub counters: Arc<SourceCounters>,
    /// Calls to the gRPC server refused because the token was missing or wrong.
    pub refusals: Arc<Refusals>,
    /// Failed TLS handshakes of the HTTP server, if it has TLS.
    pub handshakes_failed: Option<HandshakesFailed>,
    /// Subscribers of the telemetry stream.
    pub hub: Arc<Hub>,
    /// Packets for the console's zoom.
    pub packets: Arc<PacketMemory>,
    /// Directory and writer of the capture, if there is one.
    pub capture: Option<(String, WriterStats)>,
    /// Known agents; `None` unless agents are accepted.
    pub agents: Option<Agents>,
    /// The ClickHouse sink's counters; `None` unless ClickHouse is used.
    pub clickhouse: Option<tidemark_clickhouse::SinkStats>,
}

/// The answer of `/status`.
#[derive(Debug, Serialize)]
pub struct Status {
    /// Version of this program.
    pub version: String,
    /// Random name of this run.
    pub instance: String,
    /// Reports and what became of them.
    pub reports: ReportStatus,
    /// Datagrams, as `frames`, and what became of them.
    pub datagrams: FrameAccount,
    /// Rows of packets, and why reports have no row.
    pub packets: RowAccount,
    /// Senders' samples, and why samples have no row.
    pub samples: SampleAccount,
    /// How the reports of each address are received, and why not through a ring.
    pub receive: Vec<crate::receive::Path>,
    /// The first sources of refused reports.
    pub refused_sources: Vec<tidemark_pipeline::RefusedSource>,
    /// Packets matched with the state of their sender.
    pub join: JoinStatus,
    /// Counts of this machine's TCP samples.
    pub tcp_probe: tcp_probe::perf::Counts,
    /// Agents that have sent batches.
    pub agents: Vec<AgentStatus>,
    /// Flows seen in reports.
    pub flows: FlowStatus,
    /// Clocks of nodes and hosts.
    pub clocks: Vec<ClockReport>,
    /// The capture that is being written; `None` without a capture.
    pub capture: Option<CaptureStatus>,
    /// The ClickHouse sink's counters; `None` unless ClickHouse is used.
    pub clickhouse: Option<ClickHouseStatus>,
    /// Current subscribers of the telemetry stream.
    pub subscribers: Vec<SubscriberStatus>,
    /// Updates dropped because subscribers' queues were full.
    pub updates_lost: u64,
    /// Packets kept for the console's zoom.
    pub packets_in_memory: usize,
    /// Packets not kept, at ports beyond the limit on unconfigured ports.
    pub packets_not_kept: u64,
    /// Every counter of the pipeline.
    pub pipeline: tidemark_pipeline::Stats,
}

/// Flows seen in reports.
#[derive(Debug, Serialize)]
pub struct FlowStatus {
    /// Flows remembered now.
    pub active: u64,
    /// Flows ever seen.
    pub seen: u64,
    /// Flows evicted from the full table.
    pub evicted: u64,
}

/// The capture that is being written.
#[derive(Debug, Serialize)]
pub struct CaptureStatus {
    /// Directory of the capture.
    pub dir: String,
    /// Rows in complete files on disk.
    pub rows: u64,
    /// Rows dropped because the queue was full, or that could not be written.
    pub rows_lost: u64,
    /// Why nothing can be written at present; `None` if rows can be written.
    pub failure: Option<String>,
}

impl Shown {
    pub(crate) fn status(&self) -> Status {
        let s = self.snapshot.get();
        let kept = self.packets.kept();
        Status {
            version: self.version.to_owned(),
            instance: self.instance.clone(),
            reports: ReportStatus::new(&s, self.counters.sockets().kernel_drops),
            datagrams: FrameAccount::of_datagrams(&s),
            packets: RowAccount {
                waiting: s.packets_waiting,
                ..RowAccount::new(&s.stats)
            },
            samples: SampleAccount::new(&s.stats),
            receive: self.counters.paths(),
            refused_sources: s.refused_sources,
            join: JoinStatus::new(&s.stats, s.packets_waiting),
            tcp_probe: self.counters.probe(),
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
