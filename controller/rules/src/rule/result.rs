// SPDX-License-Identifier: Apache-2.0
//! Result of applying a rule.

use super::id::RuleId;
use crate::error::RuleError;
use crate::targets::Goal;
use serde::{Deserialize, Serialize};

/// One quantity a rule used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Input {
    /// The paper's symbol, e.g. `N_b`; docs/reference/glossary.md has its meaning.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Unit of the value; empty for a plain number.
    pub unit: String,
}

impl Input {
    /// A quantity; one that is not known has no finite value.
    pub fn new(name: &str, value: f64, unit: &str) -> Self {
        Self {
            name: name.into(),
            value,
            unit: unit.into(),
        }
    }

    /// A quantity that may not be known.
    pub fn maybe(name: &str, value: Option<f64>, unit: &str) -> Self {
        Self::new(name, value.unwrap_or(f64::NAN), unit)
    }
}

/// An assumption of a rule, held against the measured traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "Assumption")]
pub struct Condition {
    /// The assumption in words, with the measured value.
    pub text: String,
    /// Whether it holds; `None` when that is unknown.
    pub holds: Option<bool>,
}

impl Condition {
    /// A condition in words and whether it holds.
    pub fn new(text: impl Into<String>, holds: Option<bool>) -> Self {
        Self {
            text: text.into(),
            holds,
        }
    }
}

/// Why a rule has no buffer to ask for.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Missing {
    /// A quantity that was not measured, or a target that was not given.
    #[error("{0} is not known")]
    Unknown(&'static str),
    /// A quantity outside the range in which the formula means anything.
    #[error(transparent)]
    OutOfRange(#[from] RuleError),
    /// No buffer does what is asked; the text says why.
    #[error("{0}")]
    NoBuffer(String),
}

/// A rule applied to the measured traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "Rule")]
pub struct RuleResult {
    /// Which rule.
    #[schemars(with = "String")]
    pub id: RuleId,
    /// Name for people, e.g. `BSCL`.
    pub name: String,
    /// The buffer it asks for, bytes as the queue counts them; `None` when an
    /// input is missing or refused (`missing` says which).
    pub buffer_bytes: Option<f64>,
    /// The buffer in segments of M bytes.
    pub buffer_packets: Option<f64>,
    /// The buffer as the delay of a full queue, ms.
    pub buffer_ms: Option<f64>,
    /// Inputs of the formula; quantities that are not known are left out.
    pub inputs: Vec<Input>,
    /// Assumptions of the rule about the traffic, and whether they hold.
    pub assumptions: Vec<Condition>,
    /// No assumption is known to fail and the buffer could be computed.
    pub applies: bool,
    /// Why the buffer could not be computed.
    pub missing: Option<String>,
    /// Goals that the rule secures; empty for rules shown for comparison only.
    pub goals: Vec<Goal>,
    /// The formula in plain text.
    pub formula: String,
    /// Paper and equation.
    pub source: String,
}

impl RuleResult {
    /// The conditions known to fail.
    pub fn failing(&self) -> impl Iterator<Item = &Condition> {
        self.assumptions.iter().filter(|c| c.holds == Some(false))
    }

    /// The conditions of which it is not known whether they hold. They do not stop a
    /// rule from applying, but nobody may take them for ones that hold.
    pub fn unknown(&self) -> impl Iterator<Item = &Condition> {
        self.assumptions.iter().filter(|c| c.holds.is_none())
    }
}
