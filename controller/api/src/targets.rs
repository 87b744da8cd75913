// SPDX-License-Identifier: Apache-2.0
//! The operator's targets, and the mode of applying advice.

use serde::{Deserialize, Serialize};
use tidemark_control::Mode;
use tidemark_rules::Targets;

/// The targets of one link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LinkTargets {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port; null if reports do not tell it.
    #[serde(with = "tidemark_proto::answered_port")]
    #[schemars(with = "Option<u32>")]
    pub port: u32,
    /// Queue of the port.
    #[serde(default)]
    pub queue: u32,
    /// Targets in force at the link.
    pub targets: Targets,
}

/// All targets in force.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AllTargets {
    /// Targets of every link without its own.
    pub default: Targets,
    /// Links with their own targets.
    pub links: Vec<LinkTargets>,
}

/// The targets after a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TargetsSet {
    /// Targets now in force.
    pub targets: Targets,
}

/// The mode after a change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ModeSet {
    /// Mode now in force.
    pub mode: Mode,
}
