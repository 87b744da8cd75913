// SPDX-License-Identifier: Apache-2.0
//! The P4Runtime driver.
//!
//! * [`client`]: connection, arbitration, calls and their errors.
//! * [`program`]: ids by name out of the P4Info.
//! * [`entries`]: the Tidemark program's tables, as updates.
//! * [`driver`]: the [`crate::Southbound`] of it all.

pub mod client;
pub mod driver;
pub mod entries;
pub mod program;
pub mod values;

pub use client::Options;
pub use driver::P4Runtime;
