// SPDX-License-Identifier: Apache-2.0
//! Whether reports are received through a ring or a socket, and why.

use super::options::ReceivePath;
use super::ring::NoRing;
use serde::Serialize;
use std::net::SocketAddr;

/// Receive path of one address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Path {
    /// Destination of the reports.
    pub address: SocketAddr,
    /// How the reports are received from the kernel.
    pub path: ReceivePath,
    /// Why the reports are not received through a ring; `None` if they are.
    pub no_ring: Option<String>,
}

impl Path {
    pub(super) fn new(address: SocketAddr, no_ring: Option<NoRing>) -> Self {
        match &no_ring {
            None => tracing::info!(%address, "reports come through a ring"),
            Some(NoRing::NotAsked) => {}
            Some(why) => tracing::warn!(%address, "reports come through a socket, no ring: {why}"),
        }
        Self {
            address,
            path: match no_ring {
                None => ReceivePath::Ring,
                Some(_) => ReceivePath::Socket,
            },
            no_ring: no_ring.map(|why| why.to_string()),
        }
    }
}
