// SPDX-License-Identifier: Apache-2.0
//! The daemon's row sinks, one file each.

mod capture;
mod clickhouse;
mod known_nodes;
mod packets;

pub use capture::CaptureSink;
pub use known_nodes::KnownNodes;
