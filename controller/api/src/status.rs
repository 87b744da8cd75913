// SPDX-License-Identifier: Apache-2.0
//! The controller as a whole.

use crate::LinkId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tidemark_control::{AuditPolicy, Mode, OnDrift};
use tidemark_rules::{Limit, Targets};

/// Counters of a collector since its start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CollectorCounters {
    /// Reports received.
    pub reports_received: u64,
    /// Reports lost, from gaps in their sequence numbers.
    pub reports_lost: u64,
    /// Reports that were late by more than the collector waits.
    pub reports_late: u64,
    /// Reports received twice.
    pub reports_duplicate: u64,
    /// Reports whose sequence numbers do not continue the earlier ones; if there are many, two
    /// exporters share an address and a `hw_id`.
    pub reports_implausible_sequence: u64,
    /// Reports whose packet carries the metadata of its hops (INT-MD); 0 from an older collector.
    #[serde(default)]
    pub reports_of_hops: u64,
    /// Nodes seen only in such metadata: their drops and loss are null.
    #[serde(default)]
    pub nodes_of_hops_alone: Vec<u32>,
    /// Nodes whose reports come from two clocks at once: two exporters have the same id, or someone
    /// sends a recording. They get no advice.
    #[serde(default)]
    pub nodes_of_two_clocks: Vec<u32>,
    /// Datagrams received; null if nobody counted them.
    pub datagrams_received: Option<u64>,
    /// Datagrams that are not valid reports; null if nobody counted them.
    pub datagrams_malformed: Option<u64>,
    /// Datagrams that the kernel dropped because the socket was full; null if nobody counted them.
    pub kernel_drops: Option<u64>,
    /// Samples of the senders' TCP state.
    pub probe_samples: u64,
    /// Samples lost; null if nobody counted them.
    pub probe_lost: Option<u64>,
    /// Packets of probed flows.
    pub join_candidates: u64,
    /// Packets joined with the sender's state.
    pub join_matched: u64,
    /// Flows known now.
    pub flows: u64,
    /// Flows forgotten for lack of room.
    pub flows_evicted: u64,
    /// Rows written to the capture.
    pub capture_rows: u64,
    /// Rows that could not be written.
    pub capture_rows_lost: u64,
}

/// One collector, seen from the controller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Collector {
    /// Address in the configuration.
    pub address: String,
    /// Whether the controller is subscribed now.
    pub connected: bool,
    /// Why it is not connected.
    pub problem: Option<String>,
    /// Connections made so far.
    pub connections: u64,
    /// Identity of the collector's run; it differs after a restart.
    pub instance: String,
    /// Version of the collector.
    pub version: String,
    /// Length of an interval record, ms.
    pub interval_ms: u32,
    /// Directory of its capture; empty without one.
    pub capture_dir: String,
    /// Updates received over all connections.
    pub updates: u64,
    /// Updates missed because the controller read too slowly.
    pub updates_lost: u64,
    /// Time since the last update, s; null before the first.
    pub age_s: Option<f64>,
    /// Its own counters.
    pub status: CollectorCounters,
}

/// State of the connection to a switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Health {
    /// Whether the server answers.
    pub connected: bool,
    /// Whether its writes are accepted: the controller holds the highest election id.
    pub primary: bool,
    /// Whether a forwarding program is loaded.
    pub program_loaded: bool,
    /// API version that the server states.
    pub api_version: Option<String>,
    /// The problem, if there is one.
    pub problem: Option<String>,
}

/// One switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Switch {
    /// Node id.
    pub node: u32,
    /// Protocol of the driver, e.g. `p4runtime`.
    pub driver: String,
    /// Address of the switch.
    pub address: String,
    /// Device id within that server.
    pub device_id: u64,
    /// Bytes per unit of the switch's limit.
    pub limit_unit_bytes: u32,
    /// Whether limits can be set now.
    pub ready: bool,
    /// State of the connection.
    pub health: Health,
    /// Whether the plan has been written since the switch came up.
    pub provisioned: bool,
    /// Why provisioning failed last time.
    pub provision_problem: Option<String>,
    /// Limits as last read, by port.
    pub limits: BTreeMap<u32, Limit>,
}

/// The audit log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AuditLog {
    /// Whether there is a file (`control.audit_log`).
    pub file: bool,
    /// Policy for a change whose record cannot be written.
    pub policy: AuditPolicy,
    /// Records that the file did not take since the start.
    pub not_written: u64,
    /// Why the file did not take the last record; null if it did.
    pub problem: Option<String>,
}

/// A limit that someone else wrote, and that ours has not replaced.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Drift {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port.
    pub port: u32,
    /// Queue of the port.
    #[serde(default)]
    pub queue: u32,
    /// Limit that was expected: ours, or else the one that was read before.
    pub expected: Limit,
    /// Limit that was found.
    pub found: Limit,
    /// When it was found, Unix time.
    pub unix_ms: u64,
    /// Reaction to it (`control.on_drift`).
    pub answer: OnDrift,
}

/// A finished run that is shown instead of a live one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Recording {
    /// Directory of its capture.
    pub capture: String,
    /// Start of the capture, Unix time.
    pub started_unix_ms: u64,
    /// End of the capture, Unix time; null if it was not closed.
    pub ended_unix_ms: Option<u64>,
    /// Length of the part read so far, s.
    pub seconds: f64,
    /// Share of the rows that were read, 0 to 1. At 1, estimates and advice are those of the whole
    /// run, or of its last limit.
    pub read_fraction: f64,
    /// Gaps in the capture, in words.
    pub notes: Vec<String>,
    /// Why the capture was not read to its end; null while nothing is wrong.
    pub problem: Option<String>,
}

/// The controller as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Status {
    /// Version of the controller.
    pub version: String,
    /// How far the controller may go in applying advice.
    pub mode: Mode,
    /// Whether nothing is written to any switch.
    pub dry_run: bool,
    /// Time since the start, s.
    pub uptime_s: f64,
    /// Sliding window of the estimates, s.
    pub window_s: f64,
    /// Time between two estimates of a link that is only observed, s: more than 1 if there are more
    /// links than can be estimated in a second.
    pub estimated_every_s: u32,
    /// How far back phases and series reach, s.
    pub retention_s: f64,
    /// Collectors in the order of the configuration.
    pub collectors: Vec<Collector>,
    /// Switches by node.
    pub switches: Vec<Switch>,
    /// Targets of every link without its own.
    pub targets: Targets,
    /// The audit log.
    pub audit: AuditLog,
    /// Limits that someone else wrote.
    pub drift: Vec<Drift>,
    /// Why the last write of the state file failed; null if it did not, or without a file.
    pub state_problem: Option<String>,
    /// The finished run that is shown; null in a live controller. If it is not null, every request
    /// that would change something is refused (409).
    pub recording: Option<Recording>,
    /// Links that have reported.
    pub links: Vec<LinkId>,
}
