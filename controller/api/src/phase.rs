// SPDX-License-Identifier: Apache-2.0
//! Named spans of time of an experiment.

use serde::{Deserialize, Serialize};
use tidemark_advice::{Advice, Verdict};
use tidemark_estimators::LinkEstimate;

/// Stage of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PhaseState {
    /// Started, not ended.
    Running,
    /// Ended; its last telemetry is on its way.
    Closing,
    /// Everything up to its end has arrived.
    Complete,
}

/// Estimate over exactly the span of a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PhaseResult {
    /// Limit in force at the end, bytes.
    pub limit_bytes: Option<u64>,
    /// The estimate; null until the phase is complete.
    pub estimate: Option<LinkEstimate>,
    /// The advice; null until the phase is complete.
    pub advice: Option<Advice>,
    /// The verdict on the buffer, with its curve; null until the phase is complete.
    pub verdict: Option<Verdict>,
}

/// One link during a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PhaseLink {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port; null if reports do not tell it.
    #[serde(with = "tidemark_proto::answered_port")]
    #[schemars(with = "Option<u32>")]
    pub port: u32,
    /// Queue of the port.
    #[serde(default)]
    pub queue: u32,
    /// Start of the phase.
    pub start_ns: u64,
    /// End of the phase, exclusive; null while it runs.
    pub end_ns: Option<u64>,
    /// Start, in seconds of the capture.
    pub start_s: f64,
    /// End, in seconds of the capture.
    pub end_s: Option<f64>,
    /// Start of the first interval that the collector had of the link.
    pub capture_start_ns: u64,
    /// Number of interval records received during the phase.
    pub intervals: u64,
    /// Reports lost during the phase.
    pub reports_lost: u64,
    /// Packets joined with the sender's state.
    pub joined: u64,
    /// Packets of probed flows not joined.
    pub unjoined: u64,
    /// Why the estimate may not cover all of the phase.
    pub incomplete: Option<String>,
    /// Left out of `phase` events and of the answer to `POST /phases`.
    #[serde(flatten)]
    pub result: Option<PhaseResult>,
}

/// Reports of the collectors during a phase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PhaseReports {
    /// Reports received.
    pub received: u64,
    /// Reports lost, from gaps in their sequence numbers.
    pub lost: u64,
    /// Reports that were late by more than the collector waits.
    pub late: u64,
    /// Reports received twice.
    pub duplicate: u64,
    /// Datagrams that are not valid reports; null if nobody counted them.
    pub malformed: Option<u64>,
    /// Datagrams that the collector's kernel dropped; null if nobody counted them.
    pub kernel_drops: Option<u64>,
}

/// Samples of the senders' TCP state during a phase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PhaseProbe {
    /// Samples received.
    pub samples: u64,
    /// Samples lost; null if nobody counted them.
    pub lost: Option<u64>,
}

/// Reports joined with samples during a phase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PhaseJoin {
    /// Packets of probed flows.
    pub candidates: u64,
    /// Packets joined with the sender's state.
    pub matched: u64,
    /// `matched` over `candidates`; null without candidates.
    pub matched_fraction: Option<f64>,
}

/// One phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Phase {
    /// Name given at its start.
    pub name: String,
    /// Its stage.
    pub state: PhaseState,
    /// Start, Unix time.
    pub started_unix_ms: u64,
    /// End, Unix time; null while it runs.
    pub ended_unix_ms: Option<u64>,
    /// Reports of the collectors.
    pub reports: PhaseReports,
    /// Samples of the senders' TCP state.
    pub probe: PhaseProbe,
    /// Reports joined with samples.
    pub join: PhaseJoin,
    /// Links known at its start.
    pub links: Vec<PhaseLink>,
}

/// The phases asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Phases {
    /// The phases, oldest first.
    pub phases: Vec<Phase>,
    /// Number of phases that are kept, including those not asked for.
    pub kept: u64,
    /// Number of phases dropped since the start to make room: at most 1000 are kept, and 256 MiB of
    /// their results.
    pub forgotten: u64,
}
