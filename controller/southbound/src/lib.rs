// SPDX-License-Identifier: Apache-2.0
//! Sets and reads queue limits on switches, whatever protocol they speak.
//!
//! | module | has |
//! |---|---|
//! | [`driver`] | the traits [`Southbound`] and [`SwitchReader`]: what the controller knows of a switch |
//! | [`DryRun`] | a driver that cannot write |
//! | [`registry`] | [`DRIVERS`], the list of drivers, and how a configuration names one |
//! | [`p4rt`] | the driver for everything that serves P4Runtime with the Tidemark program (BMv2, the embedded switch, Stratum) |
//! | [`bfrt`] | the driver for Tofino |
//! | [`plan`] | what a switch is asked for, in no protocol's words |
//! | [`error`] | what can go wrong |
//!
//! Limits are in bytes; a driver converts them to the unit of its target.
//!
//! # A new driver
//! A folder with a type that implements [`Southbound`] and a
//! [`DriverKind`](registry::DriverKind) value, and one line in
//! [`DRIVERS`]. The configuration takes a section of the driver's name from
//! then on.

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
