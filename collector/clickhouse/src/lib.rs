// SPDX-License-Identifier: Apache-2.0
//! Stores the collector's rows in ClickHouse.
//!
//! ```text
//! rows ─► bounded queue ─► writer thread: Native block, zstd ─► spool file ─► inserters ─► HTTP
//! ```
//!
//! A batch is on disk before it is sent and stays there until the server has it, so
//! that neither a crash of the server nor of the collector loses it. Its name gives the
//! token by which the server and [`insert`] recognise it. `docs/how-to/clickhouse.md`
//! describes tables and guarantees; `deploy/clickhouse/` holds the schema.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod block;
mod client;
mod column;
mod config;
mod database;
pub mod error;
mod insert;
mod inserter;
mod queue;
mod schema;
mod server;
mod sink;
mod spool;
mod stats;
mod steps;
mod tables;
mod unix_time;
mod writer;

pub use client::Client;
pub use config::{ClickHouseConfig, Compression};
pub use database::Database;
pub use error::ClickHouseError;
pub use server::Server;
pub use sink::ClickHouseSink;
pub use stats::{Loss, SinkMetrics, SinkStats};
pub use steps::SinkSteps;
