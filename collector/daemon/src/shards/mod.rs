// SPDX-License-Identifier: Apache-2.0
//! Several pipelines, each with a thread of its own (`receive.shards`).
//!
//! ```text
//! socket ─┐                      ┌─► engine 0 ─► pipeline ─┐
//! socket ─┼─► ReportSender ──────┤   (nodes 10, 12, …)     ├─► RowMerge ─► stores
//! …       │   by node            └─► engine 1 ─► pipeline ─┘   one order
//! tcp_probe, agents ─► EventSender       ▲  │
//!                      by flow ──────────┘  └─► FlowShards: which pipelines know a flow
//! ```
//!
//! A node belongs to one pipeline, with its sequence numbers, its clock, its queues and its flows,
//! and no pipeline waits for another. A report with the metadata of several hops goes to the
//! pipelines of all its nodes; each takes the hops of its own nodes. A flow that crosses nodes of
//! two pipelines is two flows with different ids. With one shard none of this exists.

mod events;
mod flows;
mod reports;
mod rows;
mod start;
mod status;

pub use events::{Ended, EventSender};
pub use flows::FlowShards;
pub use reports::ReportSender;
pub use rows::{RowMerge, ShardRows};
pub use start::{Engines, Options, engine_sinks};
pub use status::StatusSum;

use std::sync::Arc;

/// Maximum number of shards: [`FlowShards`] has a bit for each.
pub const MAX_SHARDS: usize = 64;

/// State that one of several pipelines shares with the others.
#[derive(Clone, Debug)]
pub struct ShardPart {
    /// Number of the shard.
    pub index: usize,
    /// Which pipelines know a flow.
    pub flows: Arc<FlowShards>,
    /// The last status of each pipeline.
    pub statuses: Arc<StatusSum>,
}
