// SPDX-License-Identifier: Apache-2.0
//! Flow layer: the state of every TCP and UDP flow that reports show, bounded
//! in number.
//!
//! Packets and samples both change a flow: [`FlowTable::packet`] and
//! [`FlowTable::sample`]. Matching the two is the join layer's work.

mod at_port;
mod feedback;
mod handshake;
mod ids;
mod index;
mod one_ack;
mod packet;
mod sample;
mod segment;
mod segment_memory;
mod state;
mod syn;
mod table;

pub(crate) use at_port::{Arrival, FlowAtPort, Waiting};
pub(crate) use feedback::Observed;
pub use ids::FlowIds;
pub(crate) use index::{FlowHint, PackedKey};
pub(crate) use sample::NewSample;
pub(crate) use segment::Segment;
pub(crate) use segment_memory::SegmentMemory;
pub(crate) use state::{Flow, SampleState};
pub(crate) use table::FlowTable;
