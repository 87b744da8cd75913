// SPDX-License-Identifier: Apache-2.0
//! Result of a rule for one situation.

use super::id::RuleId;
use crate::error::RuleError;
use crate::targets::Goal;
use serde::{Deserialize, Serialize};

/// A quantity used by a rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Input {
    /// Symbol in the paper, e.g. `N_b`; see docs/reference/glossary.md.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Unit of the value; empty for a plain number.
    pub unit: String,
}

impl Input {
    /// Creates an input; an unknown quantity has a value that is not finite.
    pub fn new(name: &str, value: f64, unit: &str) -> Self {
        Self {
            name: name.into(),
            value,
            unit: unit.into(),
        }
    }

    /// Creates an input of a quantity that may be unknown.
    pub fn maybe(name: &str, value: Option<f64>, unit: &str) -> Self {
        Self::new(name, value.unwrap_or(f64::NAN), unit)
    }
}

/// An assumption of a rule, checked against the measured traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "Assumption")]
pub struct Condition {
    /// The assumption in words, with the measured value.
    pub text: String,
    /// Whether it holds; `None` if unknown.
    pub holds: Option<bool>,
}

impl Condition {
    /// Creates a condition from its text and whether it holds.
    pub fn new(text: impl Into<String>, holds: Option<bool>) -> Self {
        Self {
            text: text.into(),
            holds,
        }
    }
}

/// Why a rule yields no buffer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Missing {
    /// A quantity that was not measured, or a target that was not given.
    #[error("{0} is not known")]
    Unknown(&'static str),
    /// A quantity outside the range in which the formula is valid.
    #[error(transparent)]
    OutOfRange(#[from] RuleError),
    /// No buffer achieves the goal; the text says why.
    #[error("{0}")]
    NoBuffer(String),
}

/// A rule applied to the measured traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "Rule")]
pub struct RuleResult {
    /// Identifier of the rule.
    #[schemars(with = "String")]
    pub id: RuleId,
    /// Display name, e.g. `BSCL`.
    pub name: String,
    /// The buffer that the rule yields, bytes as the queue counts them; `None` if an input is
    /// missing or out of range (`missing` says which).
    pub buffer_bytes: Option<f64>,
    /// The buffer in segments of M bytes.
    pub buffer_packets: Option<f64>,
    /// The buffer as the delay of a full queue, ms.
    pub buffer_ms: Option<f64>,
    /// Inputs of the formula, without unknown quantities.
    pub inputs: Vec<Input>,
    /// Assumptions of the rule about the traffic, and whether they hold.
    pub assumptions: Vec<Condition>,
    /// Whether no assumption is known to fail and the buffer could be computed.
    pub applies: bool,
    /// Reason why the buffer could not be computed.
    pub missing: Option<String>,
    /// Goals that the rule secures; empty for rules shown for comparison only.
    pub goals: Vec<Goal>,
    /// The formula in plain text.
    pub formula: String,
    /// Paper and equation.
    pub source: String,
}

impl RuleResult {
    /// Returns the conditions that are known to fail.
    pub fn failing(&self) -> impl Iterator<Item = &Condition> {
        self.assumptions.iter().filter(|c| c.holds == Some(false))
    }

    /// Returns the conditions of which it is unknown whether they hold. They do not keep a rule
    /// from applying, but must not be taken to hold.
    pub fn unknown(&self) -> impl Iterator<Item = &Condition> {
        self.assumptions.iter().filter(|c| c.holds.is_none())
    }
}
