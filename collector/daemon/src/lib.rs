// SPDX-License-Identifier: Apache-2.0
//! The Tidemark collector: receives INT reports and tcp_probe, joins, stores
//! and streams them.
//!
//! ```text
//! UDP sockets ─► receiver threads ─┐                 ┌► capture (own thread)
//!                                  ├► engine thread ─┼► hub ─► gRPC subscribers
//! tracepoints ─► probe thread ─────┘    (pipeline)   └► packet memory
//! ```
//!
//! With several [`shards`], each has an engine thread of its own, which handles the nodes assigned
//! to it.

#![cfg_attr(not(test), deny(clippy::disallowed_macros))]
#![warn(missing_docs)]

pub mod account;
pub mod agent;
mod answers;
pub mod cli;
pub mod config;
mod doctor;
pub mod engine;
mod export;
mod grpc;
mod host;
pub mod http;
pub mod hub;
pub mod import;
mod link_histograms;
mod load;
mod open;
pub mod packets;
mod print;
mod probe;
pub mod receive;
pub mod reception_clock;
mod replay;
mod run;
mod runs_file;
pub mod shards;
pub mod source;
mod status;
mod status_client;
pub mod store;
mod time;
