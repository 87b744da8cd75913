// SPDX-License-Identifier: Apache-2.0
//! Runs a BMv2 program on one packet at a time.
//!
//! [`Image`] is a [`p4_ir::Program`] lowered to bytecode: lists of small
//! instructions on the words of the header vector. An [`Engine`] holds an image
//! and the state that outlives a packet: table entries, registers, counters,
//! meters. Time and queues belong to the traffic manager.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod bytecode;
mod engine;
mod image;
mod interpreter;
mod layout;
mod lower;
mod metadata;
mod packet;
mod state;
mod vector;

pub use engine::Engine;
pub use image::Image;
pub use metadata::{get, put};
pub use packet::{DROP_PORT, Frame, Packet, Requests, instance_type};
pub use state::cells::{Count, Meter, MeterRates, Register};
pub use state::profiles::{Choice, Member, ProfileState};
pub use state::tables::{Entry, EntryId, TableError, TableState};

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
