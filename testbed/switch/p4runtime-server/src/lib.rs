// SPDX-License-Identifier: Apache-2.0
//! P4Runtime 1.5 server over any [`Target`] that can load a BMv2 program.
//!
//! [`Server`] is the gRPC service. It checks every request against the P4Info
//! ([`pipeline`], [`matchfields`], [`actions`], [`replication`]), keeps what was
//! written ([`store`]) and has the [`target`] carry it out ([`write`], [`read`]).
//! [`arbitration`] decides who may write; [`errors`] is the error model.
//!
//! Supported: table entries with default entries, action profiles and selectors
//! (members, groups, action sets), direct and indirect counters and meters,
//! registers, value sets, digests, multicast groups, clone sessions, packet-in
//! and packet-out, all actions of SetForwardingPipelineConfig.
//! Answered with `UNIMPLEMENTED`: watch ports, idle timeouts, counters per
//! colour of a meter, role configurations, atomic batches, externs.

pub mod actions;
pub mod arbitration;
pub mod bytestring;
pub mod device;
pub mod digests;
pub mod errors;
mod inner;
pub mod matchfields;
pub mod packetio;
pub mod pipeline;
pub mod program;
pub mod read;
pub mod replication;
mod service;
pub mod store;
pub mod stream;
mod streaming;
pub mod target;
mod tasks;
pub mod write;

pub use service::{Options, Server};
pub use target::Target;
