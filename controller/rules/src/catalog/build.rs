// SPDX-License-Identifier: Apache-2.0
//! Puts a [`Rule`] together.

use crate::error::RuleError;
use crate::measured::{Goal, Measured};
use crate::rule::{Assumption, Input, Rule};

pub(super) struct Builder<'a> {
    measured: &'a Measured,
    rule: Rule,
}

pub(super) fn rule<'a>(
    measured: &'a Measured,
    id: &str,
    name: &str,
    formula: &str,
    source: &str,
) -> Builder<'a> {
    Builder {
        measured,
        rule: Rule {
            id: id.into(),
            name: name.into(),
            buffer_bytes: None,
            buffer_packets: None,
            buffer_ms: None,
            inputs: Vec::new(),
            assumptions: Vec::new(),
            applies: false,
            missing: None,
            goals: Vec::new(),
            formula: formula.into(),
            source: source.into(),
        },
    }
}

impl Builder<'_> {
    /// Notes an input; one that is not known (not finite) is left out.
    pub fn input(mut self, name: &str, value: f64, unit: &str) -> Self {
        if value.is_finite() {
            self.rule.inputs.push(Input {
                name: name.into(),
                value,
                unit: unit.into(),
            });
        }
        self
    }

    pub fn assume(mut self, text: impl Into<String>, holds: Option<bool>) -> Self {
        self.rule.assumptions.push(Assumption {
            text: text.into(),
            holds,
        });
        self
    }

    pub fn goals(mut self, goals: &[Goal]) -> Self {
        self.rule.goals = goals.to_vec();
        self
    }

    /// Ends with the buffer in bytes or the reason why there is none.
    pub fn bytes(mut self, buffer: Result<f64, String>) -> Rule {
        match buffer {
            Ok(bytes) if bytes.is_finite() => {
                let bytes = bytes.max(0.0);
                self.rule.buffer_bytes = Some(bytes);
                self.rule.buffer_packets = Some(bytes / self.measured.segment_bytes);
                self.rule.buffer_ms = Some(bytes / self.measured.drain_bytes_per_s() * 1e3);
            }
            Ok(value) => self.rule.missing = Some(format!("result is {value}")),
            Err(why) => self.rule.missing = Some(why),
        }
        self.rule.applies =
            self.rule.buffer_bytes.is_some() && self.rule.failing().next().is_none();
        self.rule
    }
}

pub(super) fn said(result: Result<f64, RuleError>) -> Result<f64, String> {
    result.map_err(|e| e.to_string())
}

pub(super) fn need<T>(value: Option<T>, what: &str) -> Result<T, String> {
    value.ok_or_else(|| format!("{what} is not known"))
}
