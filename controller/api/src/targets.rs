// SPDX-License-Identifier: Apache-2.0
//! What the operator wants, and what may be done with advice.

use serde::{Deserialize, Serialize};

/// One of the operator's three targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Goal {
    /// Utilisation of the link.
    Utilisation,
    /// Loss rate.
    Loss,
    /// Queueing delay.
    Delay,
}

/// What the operator wants of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Targets {
    /// Smallest utilisation, fraction.
    pub utilisation: f64,
    /// Largest loss rate, fraction; null = no bound.
    pub loss_rate: Option<f64>,
    /// Largest queueing delay, ms; null = no bound.
    pub delay_ms: Option<f64>,
    /// Order in which targets are kept when they cannot hold together. A target
    /// not named comes after those named.
    pub priority: Vec<Goal>,
}

/// The targets of one link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct LinkTargets {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port.
    pub port: u32,
    /// Targets in force there.
    pub targets: Targets,
}

/// All targets in force.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct AllTargets {
    /// Targets of every link without its own.
    pub default: Targets,
    /// Links with targets of their own.
    pub links: Vec<LinkTargets>,
}

/// The targets after a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct TargetsSet {
    /// Targets now in force.
    pub targets: Targets,
}

/// What the controller may do with its advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Show it.
    Recommend,
    /// Apply it when an operator says so.
    Confirm,
    /// Apply it.
    Auto,
}

/// The mode after a change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ModeSet {
    /// Mode now in force.
    pub mode: Mode,
}
