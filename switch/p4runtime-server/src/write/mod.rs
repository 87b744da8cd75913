// SPDX-License-Identifier: Apache-2.0
//! Updates of a Write.

mod arrays;
mod defaults;
mod digests;
mod entries;
mod lookup;
mod meters;
mod profiles;
mod replication;
mod table_actions;
mod value_sets;
mod writer;

pub(crate) use arrays::cells;
pub(crate) use lookup::{direct_entry, direct_resource};
pub(crate) use meters::no_colour_counters;
pub(crate) use table_actions::Wanted;
pub(crate) use writer::{Writer, no_externs};
