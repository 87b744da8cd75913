// SPDX-License-Identifier: Apache-2.0
//! Store of the clients' writes, as they will read them back.

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
