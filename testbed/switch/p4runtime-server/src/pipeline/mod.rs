// SPDX-License-Identifier: Apache-2.0
//! A P4Info checked against its program and indexed by id.

mod actions;
mod arrays;
mod checks;
mod digests;
mod index;
mod profiles;
mod tables;
mod value_sets;

pub use arrays::Array;
pub use digests::Layout;
pub use index::Pipeline;
pub use profiles::{MAX_GROUP_SIZE, Profile};
pub use tables::{Key, KeyKind, Table};
pub use value_sets::ValueSet;
