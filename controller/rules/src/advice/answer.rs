// SPDX-License-Identifier: Apache-2.0
//! What the advisor answers.

use super::marking::Marking;
use super::sensitivity::Sensitivities;
use crate::prediction::Prediction;
use crate::rule::{RuleId, RuleResult};
use crate::targets::Goal;
use crate::traffic::{Observed, Regime};
use serde::{Deserialize, Serialize};

/// A rule that was set aside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "openapi",
    derive(schemars::JsonSchema),
    schemars(rename = "RejectedRule")
)]
pub struct Rejected {
    /// Which rule.
    #[cfg_attr(feature = "openapi", schemars(with = "String"))]
    pub id: RuleId,
    /// Its name for people.
    pub name: String,
    /// The conditions that fail, or what is missing.
    pub reasons: Vec<String>,
}

/// What each target could be at best when they cannot hold together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Nearest {
    /// Utilisation expected at the advised limit.
    pub utilisation: f64,
    /// Loss rate expected at the advised limit.
    pub loss_rate: f64,
    /// Smallest delay bound with which utilisation and loss both hold
    /// (BSCL eq. 25), ms.
    pub delay_ms: f64,
}

/// Targets that cannot hold together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Infeasibility {
    /// Given up, by the operator's priority.
    pub given_up: Vec<Goal>,
    /// What they could be at best.
    pub nearest: Nearest,
}

/// What to expect of the limit now in force, beside what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Present {
    /// The limit in force, bytes as the queue counts them.
    pub limit_bytes: f64,
    /// What the models and measurements say of it.
    pub predicted: Option<Prediction>,
    /// What was measured there.
    pub measured: Option<Observed>,
}

/// The advisor's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// Regime of the link.
    pub regime: Regime,
    /// The limit to set (of a port that marks, its threshold), bytes as the queue
    /// counts them; `None` when too little is known, `reasons` says what.
    pub limit_bytes: Option<u64>,
    /// The same in segments of M bytes.
    pub limit_packets: Option<f64>,
    /// Delay of the full queue, ms.
    pub limit_ms: Option<f64>,
    /// For a port that marks: `limit_bytes` is its threshold, and this the limit
    /// above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marking: Option<Marking>,
    /// What decided.
    pub rule: Option<RuleId>,
    /// The target that decided; `None` for the smallest or largest limit.
    pub decided_by: Option<Goal>,
    /// All targets are expected to hold.
    pub feasible: bool,
    /// Which targets do not hold, where not all do.
    pub infeasible: Option<Infeasibility>,
    /// What to expect at the advised limit.
    pub predicted: Option<Prediction>,
    /// The limit in force, where it is known.
    pub present: Option<Present>,
    /// Every rule, with its buffer, inputs and conditions.
    pub rules: Vec<RuleResult>,
    /// Those of them that do not apply.
    pub rejected: Vec<Rejected>,
    /// What N_b, α and Δ each decide of the limit.
    #[serde(default, skip_serializing_if = "Sensitivities::is_empty")]
    pub sensitivity: Sensitivities,
    /// The way to the answer, in sentences.
    pub reasons: Vec<String>,
}
