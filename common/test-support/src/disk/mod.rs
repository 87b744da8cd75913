// SPDX-License-Identifier: Apache-2.0
//! A disk in memory that fills, fails, is slow, and loses power.
//!
//! Programs see one disk; the power cut sees another. What was written, named,
//! renamed or removed since the last sync of its file or directory is *pending*.
//! At a power cut, [`Survival`] says what becomes of it: none, all, a beginning,
//! some sectors, a length without bytes, names in another order than they were
//! given. What was synced is there in every case, and nothing else is promised:
//! less than any file system keeps.

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
