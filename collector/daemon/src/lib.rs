// SPDX-License-Identifier: Apache-2.0
//! The Tidemark collector: receives INT reports and tcp_probe, joins, stores
//! and streams them.
//!
//! ```text
//! UDP sockets ─► receiver threads ─┐                 ┌► capture (own thread)
//!                                  ├► engine thread ─┼► hub ─► gRPC subscribers
//! tracepoints ─► probe thread ─────┘    (pipeline)   └► packet memory
//! ```

pub mod agent;
pub mod cli;
pub mod config;
pub mod engine;
pub mod export;
pub mod grpc;
pub mod host;
pub mod http;
pub mod hub;
pub mod import;
pub mod load;
pub mod open;
pub mod packets;
pub mod pcap;
pub mod receive;
pub mod replay;
pub mod run;
pub mod source;
pub mod status;
pub mod store;
pub mod time;
