// SPDX-License-Identifier: Apache-2.0
//! Rules, predictions and the advice made of them.

use serde::{Deserialize, Serialize};
use tidemark_rules::{
    Goal, Infeasibility, Limit, Marking, Prediction, Present, Regime, Rejected, RuleResult,
    Sensitivity, Targets, WhatIfPoint,
};

/// The rules at one link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Rules {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port.
    pub port: u32,
    /// Every rule; empty before the first advice.
    pub rules: Vec<RuleResult>,
}

// `tidemark_rules::Advice`, with its rules or without.
/// The advisor's answer for one link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Advice {
    /// Regime of the link.
    pub regime: Regime,
    /// The limit to set (of a port that marks, its threshold), bytes; null when too
    /// little is known (`reasons` says what).
    pub limit_bytes: Option<u64>,
    /// The same in segments.
    pub limit_packets: Option<f64>,
    /// Delay of the full queue, ms.
    pub limit_ms: Option<f64>,
    /// For a port that marks: `limit_bytes` is its threshold, and this the limit
    /// above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marking: Option<Marking>,
    /// Identifier of the rule that decided.
    pub rule: Option<String>,
    /// The target that decided; null for the smallest or the largest limit.
    pub decided_by: Option<Goal>,
    /// All targets are expected to hold.
    pub feasible: bool,
    /// What was given up where they cannot.
    pub infeasible: Option<Infeasibility>,
    /// Expected outcome at the advised limit.
    pub predicted: Option<Prediction>,
    /// The limit in force, for comparison.
    pub present: Option<Present>,
    /// Every rule, with its buffer, inputs and conditions. Left out of `update`
    /// events and of `GET /links`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<Vec<RuleResult>>,
    /// The rules that were set aside. Left out where `rules` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<Vec<Rejected>>,
    /// What N_b, α and Δ each decide of the limit. Left out where `rules` is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sensitivity: Vec<Sensitivity>,
    /// The way to the answer, in sentences.
    pub reasons: Vec<String>,
}

/// The advice of a link, and whether it could be applied now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct AdviceState {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port.
    pub port: u32,
    /// Targets in force.
    pub targets: Targets,
    /// Limit in force.
    pub limit: Option<Limit>,
    /// The advice; null before the first estimate.
    pub advice: Option<Advice>,
    /// `POST /advice/apply` would be accepted now.
    pub can_apply: bool,
    /// Why it would not.
    pub why_not: Option<String>,
}

/// Predicted outcome over the buffer size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Curve {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port.
    pub port: u32,
    /// Limit in force in the estimate that the curve comes from, bytes.
    pub limit_bytes: Option<f64>,
    /// Points, ascending.
    pub points: Vec<WhatIfPoint>,
}
