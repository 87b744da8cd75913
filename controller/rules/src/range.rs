// SPDX-License-Identifier: Apache-2.0
//! A quantity with its uncertainty.

use serde::{Deserialize, Serialize};

/// A value with the range in which the true value may lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "Interval")]
pub struct Range {
    /// The most likely value.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Range {
    /// Creates a range; the bounds are widened to contain the value.
    pub fn new(value: f64, low: f64, high: f64) -> Self {
        Self {
            value,
            low: low.min(value),
            high: high.max(value),
        }
    }

    /// Creates the range of a value that is known exactly.
    pub fn exact(value: f64) -> Self {
        Self {
            value,
            low: value,
            high: value,
        }
    }

    /// Creates a range of `value` with a relative error.
    pub fn relative(value: f64, error: f64) -> Self {
        Self::new(value, value * (1.0 - error), value * (1.0 + error))
    }

    /// Widens the range to include `value`.
    pub fn widen(&mut self, value: f64) {
        *self = Range::new(self.value, self.low.min(value), self.high.max(value));
    }
}
