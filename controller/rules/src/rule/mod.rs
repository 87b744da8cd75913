// SPDX-License-Identifier: Apache-2.0
//! Buffer-sizing rules and their result for one situation.

mod assumption;
mod id;
mod result;
mod situation;

pub use assumption::{Assumption, HEEDS_LOSS, LBP_FLOWS, LBP_SHARE};
pub use id::RuleId;
pub use result::{Condition, Input, Missing, RuleResult};
pub use situation::Situation;

use crate::targets::Goal;
use std::borrow::Cow;

/// A paper that is the source of rules.
#[derive(Debug)]
pub struct Paper {
    /// Short name in rules and documents, e.g. `BSCL`.
    pub name: &'static str,
    /// Authors, title, venue and year.
    pub citation: &'static str,
}

/// Basis of a rule's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// A model of the traffic.
    Model,
    /// The measurement at the limit in force. Takes precedence over any model.
    Measurement,
    /// The larger of other rules. The advisor weighs goals itself, so it chooses among those rules
    /// and only shows this one.
    Combination,
}

/// A buffer-sizing rule.
///
/// The advisor uses only these fields. It takes the buffer of a rule that [serves](Self::serves)
/// utilisation or loss as the smallest that secures the goal, and that of a rule that serves delay
/// as the largest.
#[derive(Debug)]
pub struct Rule {
    /// Stable identifier in answers and stored records, e.g. `bscl_loss`.
    pub id: &'static str,
    /// Display name.
    pub name: &'static str,
    /// Source of the rule.
    pub paper: &'static Paper,
    /// Equation, theorem or section in the paper; other papers that contain it.
    pub equation: &'static str,
    /// The formula in plain text, in the paper's symbols.
    pub formula: &'static str,
    /// Goals that the rule secures; empty for a rule shown for comparison only.
    pub goals: &'static [Goal],
    /// Basis of its size.
    pub basis: Basis,
    /// Its assumptions about the traffic.
    pub assumptions: &'static [&'static Assumption],
    /// Returns the quantities that the formula uses; unknown quantities are not finite.
    pub inputs: fn(&Situation<'_>) -> Vec<Input>,
    /// Returns the buffer, bytes as the queue counts them; negative if none is needed.
    pub size_bytes: fn(&Situation<'_>) -> Result<f64, Missing>,
}

impl Rule {
    /// Whether the rule secures this goal, alone or with other goals.
    pub fn serves(&self, goal: Goal) -> bool {
        self.goals.contains(&goal)
    }

    /// Returns the id as used in answers.
    pub const fn id(&self) -> RuleId {
        RuleId::Listed(Cow::Borrowed(self.id))
    }

    /// Returns the paper and equation, e.g. `BSCL eq. 16`.
    pub fn source(&self) -> String {
        format!("{} {}", self.paper.name, self.equation)
            .trim_end()
            .into()
    }

    /// Applies the rule. If an input is missing or out of range, the result has no buffer and gives
    /// the reason in `missing`. If an assumption is known not to hold, `applies` is false.
    pub fn evaluate(&self, situation: &Situation<'_>) -> RuleResult {
        let size = (self.size_bytes)(situation).and_then(|bytes| {
            if bytes.is_finite() {
                Ok(bytes)
            } else {
                Err(Missing::NoBuffer(format!("result is {bytes}")))
            }
        });
        let asked = size.as_ref().ok().copied();
        let conditions = self.assumptions.iter();
        let conditions: Vec<Condition> = conditions
            .filter_map(|a| (a.check)(situation, asked))
            .collect();
        let traffic = situation.traffic;
        let bytes = asked.map(|b| b.max(0.0));
        RuleResult {
            id: self.id(),
            name: self.name.into(),
            buffer_bytes: bytes,
            buffer_packets: bytes.map(|b| b / traffic.segment_bytes),
            buffer_ms: bytes.map(|b| b / traffic.drain_bytes_per_s() * 1e3),
            inputs: (self.inputs)(situation)
                .into_iter()
                .filter(|i| i.value.is_finite())
                .collect(),
            applies: bytes.is_some() && conditions.iter().all(|c| c.holds != Some(false)),
            assumptions: conditions,
            missing: size.err().map(|why| why.to_string()),
            goals: self.goals.to_vec(),
            formula: self.formula.into(),
            source: self.source(),
        }
    }
}
