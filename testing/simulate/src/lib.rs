// SPDX-License-Identifier: Apache-2.0
//! Simulates the whole chain in one thread with simulated clock, network and disk: the real program
//! on the real switch engine in virtual time, model TCP senders, the collector's real pipeline and
//! hub, and the controller's real core with its closed loop. A seed determines the link, its
//! traffic, the targets and the faults; equal seeds replay exactly.
//!
//! `docs/explanation/simulation.md` says which parts are real, which are modelled, and which
//! invariants must hold.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod checks;
pub mod cli;
mod collector;
mod control_link;
mod controller;
pub mod database;
mod digest;
mod fault;
mod frame;
mod parts;
pub mod plan;
pub mod run;
pub mod shrink;
mod stores;
mod switch;
mod tcp;
mod world;

pub use checks::{Tally, Violation};
pub use fault::{Fault, Kind};
