// SPDX-License-Identifier: Apache-2.0
//! Rules, predictions and the advice made of them.

use crate::{Goal, Limit, Regime, Targets};
use serde::{Deserialize, Serialize};

/// A value with the range it may lie in.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Interval {
    /// Best guess.
    pub value: f64,
    /// Lower end of the range.
    pub low: f64,
    /// Upper end of the range.
    pub high: f64,
}

/// One quantity that a rule used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Input {
    /// Symbol in the formula, e.g. `N_b`.
    pub name: String,
    /// Its value, in `unit`.
    pub value: f64,
    /// Unit of the value; empty for a plain number.
    pub unit: String,
}

/// One condition of validity of a rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Assumption {
    /// The condition in words, with the measured value.
    pub text: String,
    /// Whether it holds on the measured traffic; null when that is unknown.
    pub holds: Option<bool>,
}

/// A sizing rule applied to the measured traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Rule {
    /// Stable identifier, e.g. `bscl`.
    pub id: String,
    /// Name for people, e.g. `BSCL`.
    pub name: String,
    /// The buffer it asks for, bytes; null when an input is missing or refused
    /// (`missing` says which).
    pub buffer_bytes: Option<f64>,
    /// The same in segments.
    pub buffer_packets: Option<f64>,
    /// The same as the delay of a full queue, ms.
    pub buffer_ms: Option<f64>,
    /// What the formula was given.
    pub inputs: Vec<Input>,
    /// Conditions under which the formula holds.
    pub assumptions: Vec<Assumption>,
    /// No assumption is known to fail and the buffer could be computed.
    pub applies: bool,
    /// Why the buffer could not be computed.
    pub missing: Option<String>,
    /// What the rule secures; empty for rules shown for comparison only.
    pub goals: Vec<Goal>,
    /// The formula in plain text.
    pub formula: String,
    /// Paper and equation.
    pub source: String,
}

/// The rules at one link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Rules {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port.
    pub port: u32,
    /// Every rule; empty before the first advice.
    pub rules: Vec<Rule>,
}

/// A rule that was set aside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct RejectedRule {
    /// Identifier of the rule.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// The conditions that fail, or what is missing.
    pub reasons: Vec<String>,
}

/// The outcome that the papers' formulas give (BSCL eq. 14 and 18; NGI §IV-A).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct FormulaPrediction {
    /// Mean utilisation, fraction.
    pub utilisation: f64,
    /// Drops over arrivals.
    pub loss_rate: f64,
    /// Mean queueing delay, ms.
    pub delay_mean_ms: f64,
}

/// The expected outcome at one limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Prediction {
    /// Mean utilisation, fraction.
    pub utilisation: Interval,
    /// Drops over arrivals.
    pub loss_rate: Interval,
    /// Largest queueing delay, ms.
    pub delay_ms: Interval,
    /// Mean queueing delay, ms.
    pub delay_mean_ms: Interval,
    /// What the papers' formulas give. Left out where the prediction is that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub formula: Option<FormulaPrediction>,
}

/// Utilisation, loss and delay as measured at the limit in force.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Observed {
    /// Bytes that left over capacity, fraction.
    pub utilisation: f64,
    /// Drops over arrivals.
    pub loss_rate: f64,
    /// Number of drops that the loss rate rests on.
    pub drops: u64,
    /// Mean queueing delay, ms.
    pub delay_mean_ms: f64,
    /// Median queueing delay, ms.
    pub delay_p50_ms: f64,
    /// 99th percentile of the queueing delay, ms.
    pub delay_p99_ms: f64,
    /// Largest queueing delay, ms.
    pub delay_max_ms: f64,
}

/// What each target could be at best when they cannot hold together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Nearest {
    /// Utilisation expected at the advised limit.
    pub utilisation: f64,
    /// Loss rate expected at the advised limit.
    pub loss_rate: f64,
    /// Smallest delay bound with which utilisation and loss both hold (BSCL
    /// eq. 25), ms.
    pub delay_ms: f64,
}

/// Targets that cannot hold together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Infeasibility {
    /// Given up, by the operator's priority.
    pub given_up: Vec<Goal>,
    /// What is possible instead.
    pub nearest: Nearest,
}

/// The limit now in force: what is expected of it, and what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Present {
    /// Limit in force, bytes.
    pub limit_bytes: f64,
    /// Expected outcome there.
    pub predicted: Option<Prediction>,
    /// Measured outcome there.
    pub measured: Option<Observed>,
}

/// The advisor's answer for one link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Advice {
    /// Regime of the link.
    pub regime: Regime,
    /// The limit to set, bytes; null when too little is known (`reasons` says
    /// what).
    pub limit_bytes: Option<u64>,
    /// The same in segments.
    pub limit_packets: Option<f64>,
    /// Delay of the full queue, ms.
    pub limit_ms: Option<f64>,
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
    pub rules: Option<Vec<Rule>>,
    /// The rules that were set aside. Left out where `rules` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<Vec<RejectedRule>>,
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

/// One point of a predicted curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct CurvePoint {
    /// Buffer size, bytes.
    pub buffer_bytes: f64,
    /// Expected outcome there.
    pub predicted: Prediction,
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
    pub points: Vec<CurvePoint>,
}
