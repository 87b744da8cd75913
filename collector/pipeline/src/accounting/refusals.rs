// SPDX-License-Identifier: Apache-2.0
//! Sources of refused reports, for an operator who has to configure or find an unknown exporter.

use crate::wire::Received;
use serde::Serialize;
use std::net::IpAddr;

/// Maximum number of sources remembered; the counters include all of them.
const MAX_SOURCES: usize = 32;

/// Why reports are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalReason {
    /// The configuration does not name the node.
    UnknownNode,
    /// The node's configuration does not name the address.
    UnknownExporter,
    /// The node has a key, but the datagram has no tag.
    NoTag,
    /// The tag does not match the node's keys.
    WrongTag,
    /// The datagram was accepted before, or is of an earlier run of the exporter.
    Replayed,
    /// The report's times are of a second clock, and both clocks keep reporting.
    TwoClocks,
}

/// An address whose reports of a node are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RefusedSource {
    /// Source address of the datagrams.
    pub exporter: IpAddr,
    /// Node that the reports name.
    pub node_id: u32,
    /// Why the reports are refused.
    pub reason: RefusalReason,
    /// Number of reports refused so far.
    pub reports: u64,
    /// Reception time of the last report, ns of the collector's clock.
    pub last_rx_ns: u64,
}

/// The first sources that were refused.
#[derive(Debug, Default)]
pub(crate) struct Refusals(pub Vec<RefusedSource>);

impl Refusals {
    #[cold]
    pub(super) fn add(&mut self, received: &Received<'_>, reason: RefusalReason) {
        let (exporter, node_id) = (*received.exporter, received.report.node_id);
        let known = self
            .0
            .iter_mut()
            .find(|s| s.exporter == exporter && s.node_id == node_id && s.reason == reason);
        if let Some(source) = known {
            source.reports += 1;
            source.last_rx_ns = received.rx_ns;
        } else if self.0.len() < MAX_SOURCES {
            self.0.push(RefusedSource {
                exporter,
                node_id,
                reason,
                reports: 1,
                last_rx_ns: received.rx_ns,
            });
        }
    }
}
