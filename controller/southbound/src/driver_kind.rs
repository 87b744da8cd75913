// SPDX-License-Identifier: Apache-2.0
//! Description of a driver, and the settings it is created from.

use crate::{Error, Southbound};
use daemon_kit::credentials::Access;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The keys of a driver's configuration section.
pub type Section = serde_json::Map<String, serde_json::Value>;

type Connect = fn(&SwitchAddress, &Section) -> Result<Arc<dyn Southbound>, Error>;

/// Description of a driver: its name and its constructor.
pub struct DriverKind {
    /// Name in REST answers, and of the driver's section in a configuration.
    pub name: &'static str,
    /// The protocol and the switches that speak it, in a few words.
    pub summary: &'static str,
    /// Whether provisioning loads the program. If not, a switch that restarted cannot be told from
    /// one that did not, and its limits have to be checked.
    pub pushes_program: bool,
    pub(crate) check: fn(&SwitchAddress, &Section) -> Result<(), Error>,
    pub(crate) connect: Connect,
}

impl fmt::Debug for DriverKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// How to reach a switch, independent of the driver.
#[derive(Clone, Debug)]
pub struct SwitchAddress {
    /// `host:port` of the switch's server, or a URL.
    pub address: String,
    /// Device id within that server.
    pub device_id: u64,
    /// P4Runtime election id: of several controllers, the one with the highest may write.
    pub election_id: u64,
    /// Bytes per unit of the target's limit (v1model 1, Tofino 80, Tofino 2 176).
    pub limit_unit_bytes: u32,
    /// Our credentials for the server, and the certificate authorities that we trust.
    pub access: Access,
    /// Timeout of a call.
    pub timeout: Duration,
}

impl Default for SwitchAddress {
    fn default() -> Self {
        Self {
            address: "127.0.0.1:9559".into(),
            device_id: 1,
            election_id: 1,
            limit_unit_bytes: 1,
            access: Access::default(),
            timeout: Duration::from_secs(10),
        }
    }
}

/// Rejects settings, for drivers that have none of their own.
pub(crate) fn no_section(driver: &str, section: &Section) -> Result<(), Error> {
    match section.keys().next() {
        None => Ok(()),
        Some(key) => Err(Error::value(
            format!("{driver}.{key}"),
            "this driver has no settings of its own; remove the key",
        )),
    }
}
