// SPDX-License-Identifier: Apache-2.0
//! Advice, and answers about its use.

use serde::{Deserialize, Serialize};
use tidemark_advice::{Advice, Verdict};
use tidemark_rules::{Limit, Targets};

/// The advice for a link, and whether it could be applied now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AdviceState {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port; null if reports do not tell it.
    #[serde(with = "tidemark_proto::answered_port")]
    #[schemars(with = "Option<u32>")]
    pub port: u32,
    /// Queue of the port.
    #[serde(default)]
    pub queue: u32,
    /// Targets in force.
    pub targets: Targets,
    /// Limit in force.
    pub limit: Option<Limit>,
    /// The advice; null before the first estimate.
    pub advice: Option<Advice>,
    /// Whether `POST /advice/apply` would be accepted now.
    pub can_apply: bool,
    /// Why it would be refused.
    pub why_not: Option<String>,
}

/// The verdict on the buffer of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct VerdictState {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port; null if reports do not tell it.
    #[serde(with = "tidemark_proto::answered_port")]
    #[schemars(with = "Option<u32>")]
    pub port: u32,
    /// Queue of the port.
    #[serde(default)]
    pub queue: u32,
    /// Targets in force.
    pub targets: Targets,
    /// The verdict, with its curve; null before the first estimate.
    pub verdict: Option<Verdict>,
}
