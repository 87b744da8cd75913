// SPDX-License-Identifier: Apache-2.0
//! The driver traits: all that the controller knows of a switch.

use crate::{Description, Error, Expected, Health, Inspection, Limit, Provision, Provisioned};
use async_trait::async_trait;

/// Asked before an initial limit is written at a port; where it says no, the
/// port stays without one.
pub type MayWriteLimit<'a> = &'a (dyn Fn(u32, Limit) -> bool + Sync);

/// Read access to a switch. Nothing here changes the switch, nor who may write to
/// it.
#[async_trait]
pub trait SwitchReader: Send + Sync {
    /// Kind and address of the switch; no I/O.
    fn describe(&self) -> Description;

    /// The limit in force at an egress port.
    async fn read_limit(&self, port: u32) -> Result<Limit, Error>;

    /// The limit in force at a queue of an egress port. A driver whose switch has one limit
    /// per port has that of queue 0 alone.
    async fn read_queue_limit(&self, port: u32, queue: u32) -> Result<Limit, Error> {
        match queue {
            0 => self.read_limit(port).await,
            queue => Err(Error::QueueLimit { port, queue }),
        }
    }

    /// Whether the switch answers and has a program loaded. It is not asked
    /// whether it takes our writes.
    async fn observe(&self) -> Health;

    /// Looks at everything that has to be right before the first run, one finding for
    /// each check. Drivers whose switches say all of it by [`Self::observe`] find nothing.
    async fn inspect(&self, _expected: &Expected<'_>) -> Inspection {
        Inspection::default()
    }
}

/// One switch whose queue limits can be read and set.
#[async_trait]
pub trait Southbound: SwitchReader {
    /// Loads the program (unless it is loaded already) and writes every entry
    /// of `plan`. Repeating it changes nothing. Initial limits are written only
    /// where the port has no limit entry yet, so that a restarted controller
    /// does not undo what was set since, and only where `may_write` agrees.
    async fn provision(
        &self,
        plan: &Provision,
        may_write: MayWriteLimit<'_>,
    ) -> Result<Provisioned, Error>;

    /// Writes a limit, reads it back and returns what is in force: the wanted
    /// limit rounded down to the target's unit. Fails with
    /// [`Error::ReadBack`] when the switch holds anything else.
    async fn set_limit(&self, port: u32, limit: Limit) -> Result<Limit, Error>;

    /// Writes the limit of a queue of the port; see [`SwitchReader::read_queue_limit`].
    async fn set_queue_limit(&self, port: u32, queue: u32, limit: Limit) -> Result<Limit, Error> {
        match queue {
            0 => self.set_limit(port, limit).await,
            queue => Err(Error::QueueLimit { port, queue }),
        }
    }

    /// Turns the reports of packets leaving through `port` on or off.
    async fn report_port(&self, port: u32, on: bool) -> Result<(), Error>;

    /// Whether the switch answers, takes our writes and has a program loaded.
    async fn health(&self) -> Health;
}
