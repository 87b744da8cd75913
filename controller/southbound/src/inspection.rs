// SPDX-License-Identifier: Apache-2.0
//! Inspection of a switch before its first use.

use crate::Provision;
use daemon_kit::doctor::Finding;
use std::collections::BTreeMap;

/// Configuration with which the switch is compared.
#[derive(Clone, Copy, Debug, Default)]
pub struct Expected<'a> {
    /// The configured plan.
    pub plan: Option<&'a Provision>,
    /// Capacity of the links by egress port, bits/s; 0 if none is configured.
    pub capacities_bps: &'a [(u32, u64)],
}

/// Result of an inspection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inspection {
    /// The findings, one per check.
    pub findings: Vec<Finding>,
    /// Packets that the traffic manager has dropped at each port since its counter was cleared, on
    /// hardware with such a counter.
    pub hardware_drops_pkts: BTreeMap<u32, u64>,
}
