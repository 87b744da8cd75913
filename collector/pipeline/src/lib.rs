// SPDX-License-Identifier: Apache-2.0
//! From decoded reports and tcp_probe events to joined rows and interval
//! records. Pure: no I/O, no clock of its own.
//!
//! ```text
//! Report ─► node semantics ─► loss accounting ─► flow ─► join ──► PostcardRow ─┐
//!                                                        ▲  │                  ├─► Aggregator ─► Update
//! tcp_probe::Event ─► held back ─► flow ─────────────────┘  └► clock ► ProbeRow ┘
//! ```
//!
//! Rows go to a capture and, in the same order, to the [`Aggregator`]; a replay
//! of the rows gives the same updates.

pub mod aggregate;
pub mod clock;
pub mod config;
mod envelope;
pub mod flow;
mod index;
pub mod node;
pub mod pipeline;
pub mod point;
mod prefetch;
pub mod profile;
mod queue;
mod ring;
pub mod rows;
mod segment;
pub mod stats;
pub mod table;

pub use aggregate::{AggregateConfig, Aggregator};
pub use config::{Config, ConfigError, DepthUnit, NodeConfig, PortConfig, TimeUnit, proto_nodes};
pub use pipeline::{Datagram, Pipeline};
pub use rows::{Event, EventRow, FlowRow, Join, PostcardRow, ProbeRow, Sink, VecSink};
pub use stats::Stats;

#[cfg(test)]
mod testing;
