// SPDX-License-Identifier: Apache-2.0
//! The current state of one egress queue.

use serde::{Deserialize, Serialize};
use tidemark_advice::{Advice, Answer, Verdict};
use tidemark_estimators::LinkEstimate;
use tidemark_rules::{Limit, Targets};

// Not `tidemark_estimators::LinkId`: every answer and request calls the switch `node`, while
// measurements call it `node_id`, as reports and stored rows do. A client that mixed up the two
// names would find no link.
/// Which egress queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LinkId {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port; null if reports do not tell it.
    #[serde(with = "tidemark_proto::answered_port")]
    #[schemars(with = "Option<u32>")]
    pub port: u32,
    /// Queue of the port.
    #[serde(default)]
    pub queue: u32,
}

/// Occupancy of the last second, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RecentOccupancy {
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: u64,
}

/// Queueing delay of the last second, ms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RecentDelay {
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

/// The last complete second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Recent {
    /// Start of the second.
    pub start_ns: u64,
    /// Bytes that left over capacity; null without a capacity.
    pub utilisation: Option<f64>,
    /// Drops over arrivals; null without arrivals, or if no report can show a drop.
    pub loss_rate: Option<f64>,
    /// Occupancy met by arrivals, bytes.
    pub occupancy_bytes: RecentOccupancy,
    /// Queueing delay, ms.
    pub delay_ms: RecentDelay,
    /// Packets that left.
    pub packets: u64,
    /// Packets that arrived.
    pub arrivals: u64,
    /// Packets dropped; null if no report can show a drop.
    pub drops: Option<u64>,
    /// Packets marked CE.
    pub ce_marked: u64,
    /// Reports lost on the way to the collector.
    pub reports_lost: u64,
}

/// How steady the advice has been.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Steadiness {
    /// Whether there has been enough advice to act on.
    pub steady: bool,
    /// Consecutive seconds in which the advice was to raise, to lower, or to keep the limit.
    pub seconds: u32,
    /// Oldest time of the data that the advice uses.
    pub since_ns: Option<u64>,
}

/// A limit on trial: its effect is being measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Trial {
    /// Limit to return to.
    pub before: Option<Limit>,
    /// Limit that was set.
    pub limit: Limit,
    /// Start of the measurement; null until the switch's clock is known from telemetry.
    pub from_ns: Option<u64>,
    /// End of the measurement, exclusive.
    pub to_ns: Option<u64>,
}

/// One egress queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Link {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port; null if reports do not tell it.
    #[serde(with = "tidemark_proto::answered_port")]
    #[schemars(with = "Option<u32>")]
    pub port: u32,
    /// Queue of the port.
    #[serde(default)]
    pub queue: u32,
    /// Name of the port; empty if it has none.
    pub name: String,
    /// Name of the node; empty if it has none.
    pub node_name: String,
    /// Address of the collector that reports the link.
    pub collector: String,
    /// Capacity on the wire, bits/s; 0 if not configured. For a queue that shares its port, the
    /// rate at which it was served; 0 if that is unknown.
    pub capacity_bps: u64,
    /// Bytes of a packet on the wire beyond its IP packet.
    pub wire_overhead_bytes: u32,
    /// Bytes of a packet in the queue beyond its IP packet.
    pub queue_overhead_bytes: u32,
    /// Bytes per unit of the occupancy in the switch's reports.
    pub depth_unit_bytes: u32,
    /// Start of the first interval that the collector had of the link.
    pub capture_start_ns: Option<u64>,
    /// Unix time of `capture_start_ns`, ms, as well as telemetry tells; null before it.
    pub capture_start_unix_ms: Option<i64>,
    /// Time up to which everything has arrived.
    pub now_ns: u64,
    /// Age of the newest report of the link, s; null before the first.
    pub age_s: Option<f64>,
    /// Age of the newest report of any link of the node, s. If it is small and `age_s` is not, the
    /// link is idle; if both are large, the switch is silent.
    pub node_age_s: Option<f64>,
    /// How far the node's records lag behind its clock, s: the delay in the collector and on the
    /// way to it.
    pub lag_s: Option<f64>,
    /// Whether the newest report is too old for advice to be applied
    /// (`control.max_telemetry_age_s`).
    pub stale: bool,
    /// Limit stated by the reports, bytes; null if unlimited or not reported.
    pub reported_limit_bytes: Option<u64>,
    /// The last complete second; null before it, and if the switch was silent in it.
    pub recent: Option<Recent>,
    /// Limit as last read from the switch; null without a switch.
    pub limit: Option<Limit>,
    /// Targets in force.
    pub targets: Targets,
    /// Estimate over the window; null before the first.
    pub estimate: Option<LinkEstimate>,
    /// The verdict on its buffer, without curve; null before the first estimate.
    pub verdict: Option<Verdict>,
    /// How steady the advice has been.
    pub steadiness: Steadiness,
    /// The advice, held steady; null before the first estimate.
    pub advice: Option<Advice>,
    /// The limit on trial: its effect is being measured.
    #[serde(rename = "watching")]
    pub trial: Option<Trial>,
}

/// A link in brief, for an overview of many links.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LinkSummary {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port; null if reports do not tell it.
    #[serde(with = "tidemark_proto::answered_port")]
    #[schemars(with = "Option<u32>")]
    pub port: u32,
    /// Queue of the port.
    #[serde(default)]
    pub queue: u32,
    /// Name of the port; empty if it has none.
    pub name: String,
    /// Name of the node; empty if it has none.
    pub node_name: String,
    /// Capacity on the wire, bits/s; 0 if not configured. For a queue that shares its port, the
    /// rate at which it was served; 0 if that is unknown.
    pub capacity_bps: u64,
    /// Age of the newest report of the link, s; null before the first.
    pub age_s: Option<f64>,
    /// Whether the newest report is too old for advice to be applied.
    pub stale: bool,
    /// Limit stated by the reports, bytes; null if unlimited or not reported.
    pub reported_limit_bytes: Option<u64>,
    /// Limit as last read from the switch; null without a switch.
    pub limit: Option<Limit>,
    /// The last complete second; null before it, and if the switch was silent in it.
    pub recent: Option<Recent>,
    /// Targets in force.
    pub targets: Targets,
    /// Flows bottlenecked here; null before the first estimate.
    pub n_b: Option<f64>,
    /// Advised limit, bytes; null without advice.
    pub advised_bytes: Option<u64>,
    /// Answer of the verdict on the buffer; null before the first estimate.
    pub answer: Option<Answer>,
    /// Whether a limit is on trial: its effect is being measured.
    #[serde(rename = "watching")]
    pub on_trial: bool,
}

/// A page of the links.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Links {
    /// The links by node, port and queue, with their advice but without its rules.
    pub links: Vec<Link>,
    /// Offset of the next page; null on the last page.
    #[serde(default)]
    pub next_offset: Option<usize>,
}

/// A limit that was set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LimitSet {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port.
    pub port: u32,
    /// Queue of the port.
    #[serde(default)]
    pub queue: u32,
    /// Limit before the change; null if unknown.
    pub before: Option<Limit>,
    /// Limit as read back from the switch; in a dry run, the limit that would be written.
    pub limit: Limit,
    /// Whether nothing was written (`control.dry_run`).
    pub dry_run: bool,
    /// Whether the audit log has every record of the change; false without a log.
    pub recorded: bool,
}

/// Advice that was applied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AdviceApplied {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port.
    pub port: u32,
    /// Queue of the port.
    #[serde(default)]
    pub queue: u32,
    /// Limit before the change; null if unknown.
    pub before: Option<Limit>,
    /// Limit as read back from the switch; in a dry run, the limit that would be written.
    pub limit: Limit,
    /// The advice that was applied.
    pub advice: Option<Advice>,
    /// Whether nothing was written (`control.dry_run`).
    pub dry_run: bool,
    /// Whether the audit log has every record of the change; false without a log.
    pub recorded: bool,
}

/// Whether a port reports.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ReportsSet {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port.
    pub port: u32,
    /// Whether packets leaving through the port are reported; in a dry run, what was asked for.
    pub on: bool,
    /// Whether nothing was written (`control.dry_run`).
    pub dry_run: bool,
}
