// SPDX-License-Identifier: Apache-2.0
//! The BFRT driver, for Tofino's own switch daemon.
//!
//! It is tested against a server of our own that checks every message by the table descriptions of
//! Tofino's real driver, and answers and refuses like that driver. **It has never run on
//! hardware.**
//!
//! The client is our own, not the crate `rbfrt`; for the reasons see decisions 7 and 44.

mod client;
mod config;
mod driver;
mod entries;
mod info;
mod inspect;
mod queue;

pub use config::{Config, Queue, Threshold};
pub use driver::Bfrt;

use crate::driver_kind::DriverKind;
use std::sync::Arc;

/// Description of the driver for the list of drivers.
pub static DRIVER: DriverKind = DriverKind {
    name: driver::NAME,
    summary: "BFRT: Tofino's own switch daemon",
    pushes_program: false,
    check: |address, section| {
        let config = Config::of(section)?;
        Config::device_id(address)?;
        config.of_ports().map(drop)
    },
    connect: |address, section| {
        let config = Config::of(section)?;
        Ok(Arc::new(Bfrt::new(address.clone(), config)?))
    },
};
