// SPDX-License-Identifier: Apache-2.0
//! A P4Info checked against its program and indexed by id.

mod actions;
mod arrays;
mod checks;
mod digests;
mod index;
mod numbered;
mod profiles;
mod tables;
mod unnamed;
mod value_sets;
mod values;

pub(crate) use actions::Action;
pub(crate) use arrays::Array;
pub(crate) use digests::Layout;
pub(crate) use index::Pipeline;
pub(crate) use numbered::Numbered;
pub(crate) use profiles::{MAX_GROUP_SIZE, Profile};
pub(crate) use tables::{Key, KeyKind, Table};
pub(crate) use unnamed::objects as unnamed_objects;
pub(crate) use value_sets::ValueSet;
#[cfg(test)]
pub(crate) use values::{Form, Values};
