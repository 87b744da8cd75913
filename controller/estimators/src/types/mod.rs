// SPDX-License-Identifier: Apache-2.0
//! Types of the estimates, for Rust and JSON.

mod estimate;
mod flow;
mod link;

pub use estimate::{Estimate, Estimates, Evidence, RegimeEstimate, Saturable};
pub use flow::{FlowClass, FlowEstimate, FlowKeyText, foremost};
pub use link::{ClassCounts, LinkEstimate, LinkId, LinkInfo, Quantiles, Utilisation};
pub use tidemark_rules::{CongestionControl, Occupancy, Regime};
