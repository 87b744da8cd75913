// SPDX-License-Identifier: Apache-2.0
//! Loss accounting by sequence number: lost, late, duplicate, restart, with
//! wrap of the 22- or 32-bit number.
//!
//! The scope of a number is (exporter, node, hw_id); a datagram has one number, however many
//! reports it holds. Losses before numbering are invisible here.

mod counts;
mod doubt;
#[cfg(test)]
mod exhaustive_tests;
mod stream;
mod table;

pub use counts::{Counts, Outcome};
pub use stream::{Stream, StreamConfig};
pub use table::{StreamKey, StreamTable};
