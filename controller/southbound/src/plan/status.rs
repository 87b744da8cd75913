// SPDX-License-Identifier: Apache-2.0
//! Information that a driver returns about its switch.

use super::Limit;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Kind and address of a switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Description {
    /// Protocol of the driver, e.g. `p4runtime`.
    pub driver: &'static str,
    /// Address of the switch.
    pub address: String,
    /// Device id within the server at that address.
    pub device_id: u64,
    /// Bytes per unit of the target's limit (1 if it counts bytes).
    pub limit_unit_bytes: u32,
}

/// State of the connection to a switch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Health {
    /// Whether the server answers.
    pub connected: bool,
    /// Whether our writes are accepted (we hold the highest election id).
    pub primary: bool,
    /// Whether a forwarding program is loaded.
    pub program_loaded: bool,
    /// API version reported by the server, if it answers.
    pub api_version: Option<String>,
    /// The problem, if there is one.
    pub problem: Option<String>,
}

impl Health {
    /// Whether everything needed to set limits is in place.
    pub fn ready(&self) -> bool {
        self.connected && self.primary && self.program_loaded
    }
}

/// Result of [`crate::Southbound::provision`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Provisioned {
    /// Whether the program was pushed since the last successful provisioning, by this call or by a
    /// failed one: all earlier state is gone.
    pub pushed: bool,
    /// Number of entries written (new or changed).
    pub entries: usize,
    /// Limits in force at the ports of the plan.
    pub limits: BTreeMap<u32, Limit>,
    /// Ports in `limits` whose limit was written by this call.
    pub written_ports: BTreeSet<u32>,
}
