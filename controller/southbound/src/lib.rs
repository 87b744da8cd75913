// SPDX-License-Identifier: Apache-2.0
//! Sets and reads queue limits on switches, independent of their protocol.
//!
//! | module | has |
//! |---|---|
//! | [`driver`] | the traits [`Southbound`] and [`SwitchReader`]: the controller's interface to a switch |
//! | [`DryRun`] | a driver that cannot write |
//! | [`registry`] | [`DRIVERS`], the list of drivers, and their selection in a configuration |
//! | [`p4rt`] | the driver for switches that serve P4Runtime with the Tidemark program (BMv2, the embedded switch, Stratum) |
//! | [`bfrt`] | the driver for Tofino |
//! | [`plan`] | the desired entries of a switch, independent of the protocol |
//! | [`error`] | errors between controller and switch |
//!
//! Limits are in bytes; a driver converts them to the unit of its target.
//!
//! # A new driver
//! Needs a folder with a type that implements [`Southbound`] and a
//! [`DriverKind`](registry::DriverKind) value, and a line in [`DRIVERS`]. The configuration then
//! accepts a section with the driver's name.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod bfrt;
pub mod driver;
mod driver_kind;
mod dry_run;
pub mod error;
mod inspection;
pub mod p4rt;
pub mod plan;
mod program_contract;
pub mod registry;
mod rpc;
mod values;

pub use driver::{MayWriteLimit, Southbound, SwitchReader};
pub use dry_run::DryRun;
pub use error::{Error, UpdateFailure};
pub use inspection::{Expected, Inspection};
pub use plan::{
    Description, Forward, Health, Limit, Provision, Provisioned, PushMode, QueueUse, Queues,
    ReportDestination, Watch,
};
pub use registry::{DRIVERS, DriverKind, DriverSection, SwitchAddress};
