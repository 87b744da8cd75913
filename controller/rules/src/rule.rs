// SPDX-License-Identifier: Apache-2.0
//! What evaluating a rule gives.

use crate::measured::Goal;
use serde::{Deserialize, Serialize};

/// One quantity a rule used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// Symbol of `formulas`, e.g. `N_b`.
    pub name: String,
    pub value: f64,
    pub unit: String,
}

/// One condition of validity of a rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Assumption {
    /// The condition in words, with the measured value.
    pub text: String,
    /// Whether it holds on the measured traffic; `None` when that is unknown.
    pub holds: Option<bool>,
}

/// A rule applied to the measured traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// Stable identifier, e.g. `bscl`.
    pub id: String,
    /// Name for people, e.g. `BSCL`.
    pub name: String,
    /// The buffer it asks for, bytes as the queue counts them; `None` when an
    /// input is missing or refused (`missing` says which).
    pub buffer_bytes: Option<f64>,
    /// The same in segments of M bytes.
    pub buffer_packets: Option<f64>,
    /// The same as the delay of a full queue, ms.
    pub buffer_ms: Option<f64>,
    pub inputs: Vec<Input>,
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

impl Rule {
    /// The conditions known to fail.
    pub fn failing(&self) -> impl Iterator<Item = &Assumption> {
        self.assumptions.iter().filter(|a| a.holds == Some(false))
    }
}
