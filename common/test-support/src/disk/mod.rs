// SPDX-License-Identifier: Apache-2.0
//! A simulated disk in memory that can be full, fail, be slow, and lose power.
//!
//! Programs see one state of the disk; a power cut sees another. Every change of bytes
//! or names since the last sync of its file or directory is *pending*. At a power cut,
//! [`Survival`] decides which pending changes survive: none, all, the first, some
//! sectors, a length without bytes, or names in another order. Synced changes always
//! survive, and nothing else is guaranteed, which is less than any file system
//! guarantees.

mod cut;
mod faults;
mod file;
mod names;
mod power_cuts;
mod simulated;
mod state;

pub use cut::Survival;
pub use faults::{Errors, Operation};
pub use power_cuts::{Model, PowerCut, Store, seeds};
pub use simulated::SimDisk;

#[cfg(test)]
mod tests;
