// SPDX-License-Identifier: Apache-2.0
//! Sources of refused reports: so that an operator can configure an unknown exporter, or find it.

use crate::wire::Received;
use serde::Serialize;
use std::net::IpAddr;

/// Sources remembered; the counters know of all.
const MAX_SOURCES: usize = 32;

/// Why reports are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalReason {
    /// The configuration does not name the node.
    UnknownNode,
    /// The node's configuration does not name the address.
    UnknownExporter,
    /// The node has a key, and the datagram no tag.
    NoTag,
    /// The tag is not of the node's key.
    WrongTag,
    /// It was taken before, or is of an earlier run of the exporter.
    Replayed,
    /// Its times are of another clock than the node's, and both go on.
    TwoClocks,
}

/// An address that sends reports of a node and is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RefusedSource {
    /// Address that the datagrams come from.
    pub exporter: IpAddr,
    /// Node that they name.
    pub node_id: u32,
    /// Why they are refused.
    pub reason: RefusalReason,
    /// Reports so far.
    pub reports: u64,
    /// Reception of the last, ns of the collector's clock.
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
