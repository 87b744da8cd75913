// SPDX-License-Identifier: Apache-2.0
//! Whether reports come by a ring or a socket, and why.

use super::options::ReceivePath;
use super::ring::NoRing;
use serde::Serialize;
use std::net::SocketAddr;

/// The way of the reports of one address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Path {
    /// Their destination.
    pub address: SocketAddr,
    /// The way from the kernel.
    pub path: ReceivePath,
    /// Why they do not come by a ring; none where they do.
    pub no_ring: Option<String>,
}

impl Path {
    pub(super) fn new(address: SocketAddr, no_ring: Option<NoRing>) -> Self {
        match &no_ring {
            None => tracing::info!(%address, "reports come by a ring"),
            Some(NoRing::NotAsked) => {}
            Some(why) => tracing::warn!(%address, "reports come by a socket, not by a ring: {why}"),
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
