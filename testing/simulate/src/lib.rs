// SPDX-License-Identifier: Apache-2.0
//! The whole chain in one thread on a simulated clock, network and disk: the real
//! program on the real switch engine in virtual time, model TCP senders, the
//! real pipeline and hub of the collector, the real core of the controller with
//! its closed loop. A seed gives the link, its traffic, the targets and the
//! faults; the same seed replays exactly.
//!
//! `docs/explanation/simulation.md` says what is real, what is modelled, and
//! what must hold.

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
