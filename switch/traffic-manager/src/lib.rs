// SPDX-License-Identifier: Apache-2.0
//! Traffic manager and event loop in logical time.
//!
//! One FIFO per egress port. A packet leaves its queue when its service begins; the egress
//! pipeline runs at that instant. Service lasts as long as the frame takes at the port's bit
//! rate; then the frame travels for the port's propagation delay. All of this happens at
//! logical times (ns since the switch started): an event that the thread handles late is still
//! handled as of its own time, and before any later event. So rates are exact, and in virtual
//! time the same input gives the same output.
//!
//! The order of clone, resubmit, multicast, drop and recirculation, and the values that each
//! sets in `standard_metadata`, are those of BMv2's simple_switch.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod aqm;
mod copies;
mod egress;
mod events;
mod ingress;
mod line;
mod loaded;
mod port;
mod priority;
mod queues;
mod replication;
mod signals;
mod stats;
pub mod super_frame;
mod switch;
mod wire;

pub use aqm::{AqmConfig, AqmCounts, CoDelConfig, FlowQueuesConfig, PieConfig, RedConfig};
pub use loaded::Loaded;
pub use port::{DEFAULT_DEPTH_PACKETS, Port, PortConfig};
pub use priority::MOST_PRIORITIES;
pub use queues::FinishClone;
pub use replication::{CloneSession, Replica};
pub use stats::Stats;
pub use switch::Switch;
pub use wire::{MIN_FRAME_BYTES, WIRE_OVERHEAD_BYTES, Wire};

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
