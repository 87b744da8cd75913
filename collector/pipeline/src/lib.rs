// SPDX-License-Identifier: Apache-2.0
//! Turns report datagrams and tcp_probe events into joined rows and interval records. Pure: no I/O
//! and no clock.
//!
//! ```text
//!              wire        accounting       flow         join          emit
//! Datagram ──► decode ───► sequences, ────► five-tuple ► sequence ───► order ─► PostcardRow
//!              (staged)    node time        state        number, time           ProbeRow
//!                                             ▲            ▲                    EventRow
//! tcp_probe::Event ──► reorder buffer ────────┴────────────┘            │
//!                                                                       ▼
//!                                                               Aggregator ─► Update
//! ```
//!
//! Each layer is a struct that owns its state; [`Pipeline`] composes the layers and advances time.
//! Code that exists only for speed names its plain form, the test that both agree, and the
//! benchmark that justifies it: the stage in `wire`, `accounting/time.rs`, the hints of
//! `flow/table.rs`, `flow/index.rs`, `pipeline/look_ahead.rs` and `aggregate/flows.rs`, the layout
//! of `flow/segment.rs`, `join/queue.rs` and `ring.rs`, and `prefetch.rs`.
//!
//! Rows go to a capture and, in the same order, to the [`Aggregator`]; a replay
//! of the rows gives the same updates.

#![warn(missing_docs)]
#![deny(unsafe_code)]
#![warn(clippy::undocumented_unsafe_blocks)]

mod accounting;
pub mod aggregate;
pub mod config;
mod emit;
mod flow;
mod join;
mod node_shards;
mod pipeline;
mod prefetch;
mod ring;
pub mod rows;
pub mod stats;
mod tcp_flags;
mod wire;

pub use accounting::{RefusalReason, RefusedSource};
pub use aggregate::{AggregateConfig, Aggregator};
pub use config::{
    Config, ConfigError, DepthUnit, Exporters, NodeConfig, PortConfig, TimeUnit, UnknownNodes,
    proto_nodes,
};
pub use flow::FlowIds;
pub use node_shards::{NodeShards, Share};
pub use pipeline::Pipeline;
pub use rows::{Absent, Event, EventRow, FlowRow, Join, PostcardRow, ProbeRow, Sink, VecSink};
pub use stats::Stats;
pub use wire::Datagram;

#[cfg(test)]
mod testing;
