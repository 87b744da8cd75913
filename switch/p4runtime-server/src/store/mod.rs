// SPDX-License-Identifier: Apache-2.0
//! Stores what clients wrote, as they will read it back.

pub(crate) mod compiled;
mod entry;
mod handles;
mod idle_timers;
mod replay;
mod state;

pub(crate) use entry::{Entry, EntryKey, Labels, OneShot};
pub(crate) use handles::NoEntry;
pub(crate) use idle_timers::Key;
pub(crate) use state::Store;
