// SPDX-License-Identifier: Apache-2.0
//! Conditions that a switch must meet before its first run.

use daemon_kit::doctor::Finding;
use serde::{Deserialize, Serialize};

/// Findings of `doctor` from the controller's own status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Findings {
    /// Findings about collectors, switches, links and audit log.
    pub findings: Vec<Finding>,
}

/// Packets that the hardware itself dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HardwareDrops {
    /// Egress port.
    pub port: u32,
    /// Drops since the hardware's counter was cleared, packets.
    pub drops: u64,
}

/// Result of inspecting a switch; nothing is written to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Inspection {
    /// Node id of the switch.
    pub node: u32,
    /// One finding per check; none if the switch's driver checks nothing beyond what `/status`
    /// says.
    pub findings: Vec<Finding>,
    /// Drops of the measured ports, if the hardware counts them.
    pub hardware_drops: Vec<HardwareDrops>,
}
