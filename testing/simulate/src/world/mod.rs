// SPDX-License-Identifier: Apache-2.0
//! The simulation. [`state`] holds all parts and the events; each other module implements one of
//! them.

mod checking;
mod control;
mod disk;
mod faults;
mod hostile;
mod reports;
mod state;
mod telemetry;
mod traffic;

pub(crate) use state::World;
