// SPDX-License-Identifier: Apache-2.0
//! Hostile input for the switch: programs, frames and P4Runtime writes. Nothing may panic, hang or
//! grow.
//!
//! A fuzzer's input is neither a program nor a write: it is read as choices of which value of a
//! real one to replace, and by what. So inputs get past the JSON parser, and the coverage of the
//! code behind it guides further choices. Each input starts with a fresh switch, so that its
//! findings are reproducible.

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
