// SPDX-License-Identifier: Apache-2.0
//! The advisor's answer.

use crate::marking::Marking;
use crate::prediction::Prediction;
use crate::sensitivity::Sensitivities;
use crate::sensitivity::Sensitivity;
use serde::{Deserialize, Serialize};
use tidemark_rules::rule::{RuleId, RuleResult};
use tidemark_rules::targets::Goal;
use tidemark_rules::traffic::{Observed, Regime};

/// A rule that was not used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "RejectedRule")]
pub struct Rejected {
    /// Identifier of the rule.
    #[schemars(with = "String")]
    pub id: RuleId,
    /// Display name of the rule.
    pub name: String,
    /// The conditions that fail, or what is missing.
    pub reasons: Vec<String>,
}

/// The nearest feasible values if the targets cannot all hold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Nearest {
    /// Expected utilisation at the advised limit.
    pub utilisation: f64,
    /// Expected loss rate at the advised limit.
    pub loss_rate: f64,
    /// Smallest delay bound with which utilisation and loss both hold (BSCL eq. 25), ms.
    pub delay_ms: f64,
}

/// Targets that cannot all hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Infeasibility {
    /// Targets given up, by the operator's priority.
    pub given_up: Vec<Goal>,
    /// Nearest feasible values.
    pub nearest: Nearest,
}

/// Prediction and measurement of the limit in force.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Present {
    /// The limit in force, bytes as the queue counts them.
    pub limit_bytes: f64,
    /// Prediction from models and measurements.
    pub predicted: Option<Prediction>,
    /// Measurement at the limit in force.
    pub measured: Option<Observed>,
    /// Targets missed by the measurement, by more than estimates fluctuate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<Goal>,
}

/// The advisor's answer for one link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Advice {
    /// Regime of the link.
    pub regime: Regime,
    /// The limit to set (for a port that marks, its threshold), bytes as the queue counts them;
    /// null if too little is known (`reasons` says what).
    pub limit_bytes: Option<u64>,
    /// This limit in segments of M bytes.
    pub limit_packets: Option<f64>,
    /// Delay of the full queue, ms.
    pub limit_ms: Option<f64>,
    /// For a port that marks, whose threshold is `limit_bytes`: the limit above the threshold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marking: Option<Marking>,
    /// Identifier of the deciding model or, for delay, rule of the list, or the advisor's name for
    /// its own decision.
    #[schemars(with = "Option<String>")]
    pub rule: Option<RuleId>,
    /// The deciding target; null for the smallest or the largest limit.
    pub decided_by: Option<Goal>,
    /// Interval of acceptable limits, bytes: from the limit at which the targets are as likely met
    /// as not to the one above which less buffer would be worth a change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_bytes: Option<[f64; 2]>,
    /// Requested probability with which each target is to be met.
    #[serde(default)]
    pub confidence_asked: f64,
    /// Smallest of the targets' probabilities of being met at `limit_bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chance: Option<f64>,
    /// The limit towards which `limit_bytes` is a step, bytes, if it is too far from the measured
    /// limits; otherwise omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub towards_bytes: Option<u64>,
    /// Whether all targets are expected to hold.
    pub feasible: bool,
    /// Targets that were given up, if not all can hold.
    pub infeasible: Option<Infeasibility>,
    /// Expected outcome at the advised limit.
    pub predicted: Option<Prediction>,
    /// The limit in force, for comparison.
    pub present: Option<Present>,
    /// All rules, with buffer, inputs and conditions. `update` events and `GET /links` omit them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleResult>,
    /// The rules that were not used. Omitted if `rules` is, and if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<Rejected>,
    /// Influence of N_b, α and Δ on the limit. Omitted if `rules` is.
    #[serde(default, skip_serializing_if = "Sensitivities::is_empty")]
    #[schemars(with = "Vec<Sensitivity>")]
    pub sensitivity: Sensitivities,
    /// The derivation of the answer, in sentences.
    pub reasons: Vec<String>,
}

/// Relative change of the limit that is large enough to end a miss.
const ENDS_A_MISS: f64 = 0.05;

impl Advice {
    /// Returns whether a step from the limit in force to `to_bytes`, on the way to the advised
    /// limit, is worth it: it changes the limit by more than `least_change` (relative), or ends a
    /// miss.
    pub fn worth_a_step(&self, to_bytes: u64, least_change: f64) -> bool {
        let Some(present) = self.present.as_ref().filter(|p| p.limit_bytes > 0.0) else {
            return true;
        };
        let ends = self.limit_bytes == Some(to_bytes) && !present.missed.is_empty();
        let least = if ends {
            least_change.min(ENDS_A_MISS)
        } else {
            least_change
        };
        let ratio = to_bytes as f64 / present.limit_bytes;
        ratio.ln().abs() > least.max(0.0).ln_1p()
    }

    /// Returns this advice without its rules and its sensitivities, which are then not even
    /// computed.
    pub fn without_rules(&self) -> Self {
        Self {
            regime: self.regime,
            limit_bytes: self.limit_bytes,
            limit_packets: self.limit_packets,
            limit_ms: self.limit_ms,
            marking: self.marking.clone(),
            rule: self.rule.clone(),
            decided_by: self.decided_by,
            interval_bytes: self.interval_bytes,
            confidence_asked: self.confidence_asked,
            chance: self.chance,
            towards_bytes: self.towards_bytes,
            feasible: self.feasible,
            infeasible: self.infeasible.clone(),
            predicted: self.predicted,
            present: self.present.clone(),
            rules: Vec::new(),
            rejected: Vec::new(),
            sensitivity: Sensitivities::default(),
            reasons: self.reasons.clone(),
        }
    }
}
