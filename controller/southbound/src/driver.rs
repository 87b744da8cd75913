// SPDX-License-Identifier: Apache-2.0
//! The driver traits: the controller's interface to a switch.

use crate::{Description, Error, Expected, Health, Inspection, Limit, Provision, Provisioned};
use async_trait::async_trait;

/// Decides whether an initial limit may be written at a port; if not, the port stays without a
/// limit.
pub type MayWriteLimit<'a> = &'a (dyn Fn(u32, Limit) -> bool + Sync);

/// Read access to a switch. Its methods change neither the switch nor which controller may write to
/// it.
#[async_trait]
pub trait SwitchReader: Send + Sync {
    /// Returns the kind and address of the switch; no I/O.
    fn describe(&self) -> Description;

    /// Reads the limit in force at an egress port.
    async fn read_limit(&self, port: u32) -> Result<Limit, Error>;

    /// Reads the limit in force at a queue of an egress port. If the switch has one limit per port,
    /// only queue 0 is available.
    async fn read_queue_limit(&self, port: u32, queue: u32) -> Result<Limit, Error> {
        match queue {
            0 => self.read_limit(port).await,
            queue => Err(Error::QueueLimit { port, queue }),
        }
    }

    /// Checks whether the switch answers and has a program loaded, but not whether it accepts our
    /// writes.
    async fn observe(&self) -> Health;

    /// Checks everything that must be right before the first run, with one finding per check.
    /// Drivers for which [`Self::observe`] covers all of this return no findings.
    async fn inspect(&self, _expected: &Expected<'_>) -> Inspection {
        Inspection::default()
    }
}

/// A switch whose queue limits can be read and set.
#[async_trait]
pub trait Southbound: SwitchReader {
    /// Loads the program (unless it is loaded already) and writes every entry of `plan`.
    /// Idempotent. An initial limit is written only if the port has no limit entry yet, so that a
    /// restarted controller does not undo later changes, and only if `may_write` agrees.
    async fn provision(
        &self,
        plan: &Provision,
        may_write: MayWriteLimit<'_>,
    ) -> Result<Provisioned, Error>;

    /// Writes a limit, reads it back and returns the limit in force: the requested one rounded down
    /// to the target's unit. Fails with [`Error::ReadBack`] if the switch holds anything else.
    async fn set_limit(&self, port: u32, limit: Limit) -> Result<Limit, Error>;

    /// Writes the limit of a queue of the port; see [`SwitchReader::read_queue_limit`].
    async fn set_queue_limit(&self, port: u32, queue: u32, limit: Limit) -> Result<Limit, Error> {
        match queue {
            0 => self.set_limit(port, limit).await,
            queue => Err(Error::QueueLimit { port, queue }),
        }
    }

    /// Turns reports of packets that leave through `port` on or off.
    async fn report_port(&self, port: u32, on: bool) -> Result<(), Error>;

    /// Checks whether the switch answers, accepts our writes and has a program loaded.
    async fn health(&self) -> Health;
}
