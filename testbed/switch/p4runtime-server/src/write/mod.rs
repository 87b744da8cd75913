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

pub use arrays::cells;
pub use lookup::direct_entry;
pub use meters::no_colour_counters;
pub use writer::{Writer, no_externs};
