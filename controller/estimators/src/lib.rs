// SPDX-License-Identifier: Apache-2.0
//! Streaming estimators of the quantities that determine a buffer's size: N_b, α, Δ, Tₑ, Cₑ and
//! related ones; pure, no I/O.
//!
//! [`Estimator`] takes the telemetry stream ([`Update`]s), live or from a capture, and keeps the
//! recent interval records, bounded in time and number. [`Estimator::estimate`] reduces a window of
//! records to a [`LinkEstimate`]; [`LinkEstimate::measured`] converts it to the input of the
//! advisor of `tidemark-rules`.
//!
//! [`Update`]: tidemark_proto::telemetry::Update

#![forbid(unsafe_code)]
#![warn(missing_docs)]
// Private modules here hold items that the whole crate uses.
#![allow(unreachable_pub)]

mod assemble;
mod classify;
mod config;
mod congestion_control;
mod distribution;
mod echo;
mod estimator;
mod fairness;
mod feedback;
mod gaps;
mod in_flight;
mod load;
mod loss_events;
mod mean_rtt;
mod measured;
mod quantile;
mod reductions;
mod rtt;
mod signals;
mod stats;
mod store;
mod synchrony;
mod types;
mod utilisation;
mod window;

/// Types for the calibration of the classifier's weights.
pub mod calibration {
    pub use crate::classify::{Observation, WeightKind, Weights, log_odds};
}

pub use config::EstimatorConfig;
pub use distribution::OccupancyDistribution;
pub use estimator::Estimator;
pub use store::Evicted;
pub use types::*;
