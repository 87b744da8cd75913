// SPDX-License-Identifier: Apache-2.0
//! What the metrics are taken from.

use std::sync::Arc;
use tidemark_estimators::{LinkEstimate, LinkId};
use tidemark_rules::Targets;

/// What the metrics are at one moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub links: Vec<LinkSample>,
    pub collectors: Vec<CollectorSample>,
    /// Nodes of the switches, and whether limits can be set there.
    pub switches: Vec<(u32, bool)>,
    /// Whether advice is followed without being asked.
    pub auto: bool,
    pub audit: AuditSample,
}

/// One link.
#[derive(Clone, Debug)]
pub struct LinkSample {
    pub link: LinkId,
    pub limit_bytes: Option<u64>,
    pub advised_bytes: Option<u64>,
    pub estimate: Option<Arc<LinkEstimate>>,
    pub targets: Targets,
    /// Age of the link's newest report.
    pub report_age_s: Option<f64>,
}

/// The connection to one collector.
#[derive(Clone, Debug)]
pub struct CollectorSample {
    pub address: String,
    pub connected: bool,
    pub age_s: Option<f64>,
    pub updates: u64,
    pub updates_lost: u64,
}

/// The audit log and its store.
#[derive(Clone, Copy, Debug, Default)]
pub struct AuditSample {
    pub not_written: u64,
    pub stored: u64,
    pub rejected: u64,
    pub retries: u64,
    pub waiting_bytes: u64,
}
