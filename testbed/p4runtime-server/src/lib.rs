// SPDX-License-Identifier: Apache-2.0
//! P4Runtime 1.5 server over any [`Target`] that can load a BMv2 program.
//!
//! [`Server`] is the gRPC service. It checks every request against the P4Info
//! ([`pipeline`], [`matchfields`], [`actions`], [`replication`]), keeps what was
//! written ([`store`]) and has the [`target`] carry it out ([`write`], [`read`]).
//! [`arbitration`] decides who may write; [`errors`] is the error model.
//!
//! Supported: table entries with default entries, direct and indirect counters,
//! registers, multicast groups, clone sessions, packet-in and packet-out.
//! Answered with `UNIMPLEMENTED`: action profiles, meters, digests, value sets,
//! idle timeouts, role configurations, atomic batches, RECONCILE_AND_COMMIT.

pub mod actions;
pub mod arbitration;
pub mod bytestring;
pub mod device;
pub mod errors;
pub mod matchfields;
pub mod packetio;
pub mod pipeline;
pub mod program;
pub mod read;
pub mod replication;
mod service;
pub mod store;
pub mod stream;
pub mod target;
pub mod write;

pub use service::{Options, Server};
pub use target::Target;
