// SPDX-License-Identifier: Apache-2.0
//! Snapshot from which the metrics are taken.

use std::sync::Arc;
use tidemark_advice::Verdict;
use tidemark_estimators::{LinkEstimate, LinkId};
use tidemark_rules::Targets;

/// Values of the metrics at one moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Every known link.
    pub links: Vec<LinkSample>,
    /// Every configured collector.
    pub collectors: Vec<CollectorSample>,
    /// Nodes of the switches, and whether limits can be set there.
    pub switches: Vec<(u32, bool)>,
    /// Whether advice is applied without being asked for.
    pub auto: bool,
    /// The audit log and its store.
    pub audit: AuditSample,
}

/// One link.
#[derive(Clone, Debug)]
pub struct LinkSample {
    /// Node and egress port.
    pub link: LinkId,
    /// Name of the node; empty when the collector has none.
    pub node_name: String,
    /// Name of the port; empty when the collector has none.
    pub port_name: String,
    /// Capacity; `None` when the collector does not know it.
    pub capacity_bps: Option<u64>,
    /// The limit in force; `None` when unlimited or not known.
    pub limit_bytes: Option<u64>,
    /// The verdict on its buffer; `None` before the first estimate.
    pub verdict: Option<Arc<Verdict>>,
    /// The newest estimate; `None` before the first.
    pub estimate: Option<Arc<LinkEstimate>>,
    /// The link's own targets, or else the default ones.
    pub targets: Targets,
    /// Age of the link's newest report, s.
    pub report_age_s: Option<f64>,
}

/// The connection to one collector.
#[derive(Clone, Debug)]
pub struct CollectorSample {
    /// gRPC address, as configured.
    pub address: String,
    /// Whether its stream is open.
    pub connected: bool,
    /// Time since its last update, s; `None` before the first.
    pub age_s: Option<f64>,
    /// Updates received.
    pub updates: u64,
    /// Updates missed because the controller read too slowly.
    pub updates_lost: u64,
}

/// The audit log and its store.
#[derive(Clone, Copy, Debug, Default)]
pub struct AuditSample {
    /// Records that the file did not take.
    pub not_written: u64,
    /// Records stored in ClickHouse.
    pub stored: u64,
    /// Lines that are not records, or that ClickHouse cannot read.
    pub rejected: u64,
    /// Failed attempts to store.
    pub retries: u64,
    /// Bytes of the log that are not in ClickHouse yet.
    pub waiting_bytes: u64,
}
