// SPDX-License-Identifier: Apache-2.0
//! p4c's BMv2 JSON, compiled to an indexed form.
//!
//! [`load`] reads the JSON once; afterwards every field is a slot in one array
//! of words, every action a flat list of instructions, every name an index.
//! What the loader does not know is an error that names the construct and the
//! line of the P4 source it came from.

pub mod bits;
mod calculation;
pub mod emission;
mod error;
pub mod expr;
pub mod fast;
pub mod gather;
pub mod ir;
mod load;
pub mod lower;
pub mod op;
pub mod packed;
mod parse_graph;
pub mod select;
pub mod sum;

pub use error::LoadError;
pub use load::load;

#[cfg(test)]
mod tests;
