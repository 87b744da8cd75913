// SPDX-License-Identifier: Apache-2.0
//! What clients have written, as they will read it back.

pub mod compiled;
mod entry;
mod replay;
mod state;

pub use entry::{Entry, EntryKey, Labels, OneShot};
pub use state::Store;
