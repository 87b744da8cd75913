// SPDX-License-Identifier: Apache-2.0
//! The expected outcome at one limit.

use serde::{Deserialize, Serialize};
use tidemark_rules::range::Range;

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
    /// Result of the papers' formulas, if the prediction is based on measurements at the limit in
    /// force instead; otherwise omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub formula: Option<FormulaPrediction>,
}

/// Result of the papers' formulas at one limit (BSCL eq. 14 and 18; NGI §IV-A).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FormulaPrediction {
    /// Mean utilisation, fraction.
    pub utilisation: f64,
    /// Drops over arrivals.
    pub loss_rate: f64,
    /// Mean queueing delay, ms.
    pub delay_mean_ms: f64,
}

/// One point of a what-if curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "CurvePoint")]
pub struct WhatIfPoint {
    /// The limit, bytes as the queue counts them.
    pub buffer_bytes: f64,
    /// Prediction at this limit.
    pub predicted: Prediction,
}

/// Measurement of one limit that was in force under this traffic.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MeasuredLimit {
    /// The limit, bytes as the queue counts them.
    pub limit_bytes: f64,
    /// Mean utilisation, fraction, with its sampling error.
    pub utilisation: Range,
    /// Drops over arrivals, with its sampling error.
    pub loss_rate: Range,
    /// Mean queueing delay, ms.
    pub delay_mean_ms: f64,
    /// Number of loss events behind `loss_rate`.
    pub loss_events: f64,
}
