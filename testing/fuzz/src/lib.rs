// SPDX-License-Identifier: Apache-2.0
//! Hostile input of the switch: programs, frames and P4Runtime writes. Nothing may
//! panic, hang or grow.
//!
//! An input of the fuzzer is no program and no write: it is read as choices, of which
//! value of a real one to replace, and by what. So an input comes past the parser of
//! JSON, and the coverage of the code behind it guides the next choices. Each input starts
//! with a switch that has seen nothing: it repeats what it found.

#![cfg(feature = "switch")]
#![forbid(unsafe_code)]
#![warn(missing_docs)]
#![allow(clippy::unwrap_used)] // What is ours has to load.

mod cases;
mod choices;
#[path = "../../../switch/daemon/tests/it/common/mod.rs"]
mod common;
mod frames;
mod programs;
mod writes;

pub use frames::frame;
pub use programs::program;
pub use writes::write;
