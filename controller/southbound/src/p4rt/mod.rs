// SPDX-License-Identifier: Apache-2.0
//! The P4Runtime driver.

mod byte_string;
mod client;
mod driver;
mod entries;
mod inspect;
mod load;
mod program;

pub use driver::P4Runtime;

use crate::driver_kind::{DriverKind, no_section};
use std::sync::Arc;

/// Description of the driver for the list of drivers.
pub static DRIVER: DriverKind = DriverKind {
    name: driver::NAME,
    summary: "P4Runtime: BMv2, the embedded switch, Stratum",
    pushes_program: true,
    check: |_, section| no_section(driver::NAME, section),
    connect: |address, section| {
        no_section(driver::NAME, section)?;
        Ok(Arc::new(P4Runtime::new(address.clone())?))
    },
};
