// SPDX-License-Identifier: Apache-2.0
//! Conditions that a switch must meet before its first run.

use daemon_kit::doctor::Finding;
use serde::{Deserialize, Serialize};

/// Findings of `doctor` that the controller's own status tells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Findings {
    /// Of collectors, switches, links and audit log.
    pub findings: Vec<Finding>,
}

/// Packets that the hardware itself dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HardwareDrops {
    /// Egress port.
    pub port: u32,
    /// Since the hardware's counter was cleared, packets.
    pub drops: u64,
}

/// A switch, looked at; nothing is written to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Inspection {
    /// Node id of the switch.
    pub node: u32,
    /// One for each check; none of a switch whose driver looks at nothing beyond what
    /// `/status` says.
    pub findings: Vec<Finding>,
    /// Of the measured ports, where the hardware counts.
    pub hardware_drops: Vec<HardwareDrops>,
}
