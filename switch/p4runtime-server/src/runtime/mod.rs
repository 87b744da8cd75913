// SPDX-License-Identifier: Apache-2.0
//! The device as BMv2's runtime services have it: tables by name and entries by handle, values
//! in whole bytes, multicast groups made of nodes. It is the device that P4Runtime's clients
//! write to, by the same `Writer`, without arbitration.
//!
//! Refusals are BMv2's codes; each kind of object has its own.

mod arrays;
mod codes;
mod direct;
mod keys;
mod nodes;
mod profiles;
mod program;
mod replication;
mod tables;
mod types;

pub use codes::{ArrayError, McError, MeterError, TableError};
pub(crate) use nodes::Nodes;
pub use types::{
    ActionEntry, Entry, EntryAge, Group, Match, Member, Mirror, Rate, Runtime, TableShape,
};
