// SPDX-License-Identifier: Apache-2.0
//! Settings of BFRT in addition to the address of a switch.

use crate::Error;
use crate::driver_kind::{Section, SwitchAddress};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The section `bfrt` of a switch's configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Name of the running program.
    pub p4_name: String,
    /// Id of this client; must be unique among the clients of a switch.
    #[serde(default = "first_client")]
    pub client_id: u32,
    /// Queues whose limit the traffic manager holds (`tm.queue.buffer`), by port number for queue 0
    /// or "port:queue" for another; the program holds the limits of other ports.
    #[serde(default)]
    pub queues: BTreeMap<String, Queue>,
}

/// A queue of the traffic manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// Pipe of the port.
    pub pipe: u32,
    /// Port group within the pipe.
    pub pg_id: u32,
    /// Queue within the port group.
    pub pg_queue: u32,
    /// Form of the queue's limit.
    #[serde(default)]
    pub threshold: Threshold,
}

/// How the traffic manager holds a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Threshold {
    /// A fixed number of cells of the queue's own.
    #[default]
    Static,
    /// A share of the free cells of the queue's pool (`dynamic_baf`). The limit in bytes is the
    /// largest occupancy, which the queue reaches if it is alone in its pool.
    Dynamic,
}

/// A server: how to reach it, and BFRT's own settings.
pub(super) struct Server {
    pub switch: SwitchAddress,
    pub config: Config,
    /// Device id of `switch` in 32 bits.
    pub device_id: u32,
}

fn first_client() -> u32 {
    1
}

impl Config {
    pub(super) fn of(section: &Section) -> Result<Self, Error> {
        serde_json::from_value(section.clone().into())
            .map_err(|e| Error::value("bfrt", e.to_string()))
    }

    /// Returns the queues by port and queue number.
    pub(super) fn of_ports(&self) -> Result<BTreeMap<(u32, u32), Queue>, Error> {
        let mut all = BTreeMap::new();
        for (k, q) in &self.queues {
            let (port, queue) = k.split_once(':').unwrap_or((k, "0"));
            let (Ok(port), Ok(queue)) = (port.parse(), queue.parse()) else {
                return Err(Error::value(
                    format!("bfrt.queues.{k}"),
                    format!("\"{k}\" is neither a port number nor port:queue"),
                ));
            };
            if all.insert((port, queue), *q).is_some() {
                return Err(Error::value(
                    format!("bfrt.queues.{k}"),
                    format!("queue {queue} of port {port} is named twice"),
                ));
            }
        }
        Ok(all)
    }

    /// Returns the device id in BFRT's 32 bits; an error if it does not fit.
    pub(super) fn device_id(address: &SwitchAddress) -> Result<u32, Error> {
        u32::try_from(address.device_id).map_err(|_| {
            let text = format!("{} is too large: BFRT has 32 bits", address.device_id);
            Error::value("device_id", text)
        })
    }
}
