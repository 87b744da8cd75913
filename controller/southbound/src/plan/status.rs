// SPDX-License-Identifier: Apache-2.0
//! A driver's statements about its switch.

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
    /// Device id within that server.
    pub device_id: u64,
    /// Bytes per unit of the target's limit (1 where it counts bytes).
    pub limit_unit_bytes: u32,
}

/// State of the connection to a switch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Health {
    /// The server answers.
    pub connected: bool,
    /// Our writes are accepted (we hold the highest election id).
    pub primary: bool,
    /// A forwarding program is loaded.
    pub program_loaded: bool,
    /// API version the server states, when it answers.
    pub api_version: Option<String>,
    /// The problem, if there is one.
    pub problem: Option<String>,
}

impl Health {
    /// Everything needed for setting limits is there.
    pub fn ready(&self) -> bool {
        self.connected && self.primary && self.program_loaded
    }
}

/// Result of [`crate::Southbound::provision`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Provisioned {
    /// The program was pushed since the provisioning that succeeded before, by this call or
    /// by one that failed: all earlier state is gone.
    pub pushed: bool,
    /// Entries written (new or changed).
    pub entries: usize,
    /// Limits in force at the ports of the plan.
    pub limits: BTreeMap<u32, Limit>,
    /// Of these the ports whose limit was written now.
    pub written_ports: BTreeSet<u32>,
}
