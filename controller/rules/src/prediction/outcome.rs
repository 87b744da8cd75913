// SPDX-License-Identifier: Apache-2.0
//! Outcomes at one limit: of a model, and as predicted with ranges.

use crate::range::Range;
use crate::traffic::Traffic;
use serde::{Deserialize, Serialize};

/// A model's outcome at one limit.
#[derive(Clone, Copy)]
pub(super) struct ModelOutcome {
    pub utilisation: f64,
    pub loss_rate: f64,
    pub delay_ms: f64,
    pub delay_mean_ms: f64,
}

/// Delay of a packet that is just admitted, ms: the occupancy is below the limit
/// then, and the packet waits for the one in transmission too.
pub(super) fn full_ms(m: &Traffic, buffer_bytes: f64) -> f64 {
    (buffer_bytes + m.segment_bytes) / m.drain_bytes_per_s() * 1e3
}

/// The expected outcome at one limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Prediction {
    /// Mean utilisation, fraction.
    pub utilisation: Range,
    /// Drops over arrivals.
    pub loss_rate: Range,
    /// Largest queueing delay, ms.
    pub delay_ms: Range,
    /// Mean queueing delay, ms.
    pub delay_mean_ms: Range,
    /// What the papers' formulas give, where the prediction rests on what was
    /// measured at the limit in force instead; left out elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub formula: Option<FormulaPrediction>,
}

/// The papers' formulas at one limit (BSCL eq. 14 and 18; NGI §IV-A).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FormulaPrediction {
    /// Mean utilisation, fraction.
    pub utilisation: f64,
    /// Drops over arrivals.
    pub loss_rate: f64,
    /// Mean queueing delay, ms.
    pub delay_mean_ms: f64,
}

impl Prediction {
    /// As a model has it, all that it rests on taken as known.
    pub(super) fn exact(o: &ModelOutcome) -> Self {
        Self {
            utilisation: Range::exact(o.utilisation),
            loss_rate: Range::exact(o.loss_rate),
            delay_ms: Range::exact(o.delay_ms),
            delay_mean_ms: Range::exact(o.delay_mean_ms),
            formula: None,
        }
    }

    /// Reaches to another outcome.
    pub(super) fn widen(&mut self, o: &ModelOutcome) {
        self.utilisation.widen(o.utilisation);
        self.loss_rate.widen(o.loss_rate);
        self.delay_ms.widen(o.delay_ms);
        self.delay_mean_ms.widen(o.delay_mean_ms);
    }
}

impl From<&ModelOutcome> for FormulaPrediction {
    fn from(o: &ModelOutcome) -> Self {
        Self {
            utilisation: o.utilisation,
            loss_rate: o.loss_rate,
            delay_mean_ms: o.delay_mean_ms,
        }
    }
}

/// One point of a what-if curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "CurvePoint")]
pub struct WhatIfPoint {
    /// The limit, bytes as the queue counts them.
    pub buffer_bytes: f64,
    /// What to expect there.
    pub predicted: Prediction,
}
