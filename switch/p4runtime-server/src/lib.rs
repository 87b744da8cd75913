// SPDX-License-Identifier: Apache-2.0
//! P4Runtime 1.5 server over any [`Target`] that can load a BMv2 program.
//!
//! [`Server`] is the gRPC service. It checks every request against the P4Info
//! (`pipeline`, `matchfields`, `actions`, `replication`), keeps the state written by
//! clients (`store`) and has the [`target`] execute the request (`write`, `read`).
//! [`runtime`] presents the same device in the form of BMv2's runtime services.
//! `arbitration` decides who may write; [`errors`] is the error model.
//!
//! Supported: table entries with default entries, action profiles and selectors
//! (members, groups, action sets), direct and indirect counters and meters,
//! registers, value sets, digests, idle timeouts, multicast groups, clone sessions, packet-in
//! and packet-out, all actions of SetForwardingPipelineConfig.
//! Answered with `UNIMPLEMENTED`: watch ports, counters per meter colour, role
//! configurations, atomic batches, externs.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod actions;
mod arbitration;
mod bytestring;
mod device;
mod device_config;
mod digests;
pub mod errors;
mod forwarding;
mod idle;
mod matchfields;
mod packetio;
mod pipeline;
mod read;
mod replication;
pub mod runtime;
mod service;
mod shared;
mod store;
mod stream_channel;
mod streams;
pub mod target;
mod write;

pub use runtime::Runtime;
pub use service::Server;
pub use target::Target;

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
