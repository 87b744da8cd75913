// SPDX-License-Identifier: Apache-2.0
//! The device as BMv2's runtime services present it: tables by name, entries by handle, values
//! in whole bytes, multicast groups made of nodes. It is the same device that P4Runtime clients
//! write to, through the same `Writer`, but without arbitration.
//!
//! Refusals have BMv2's codes; each kind of object has its own codes.

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
