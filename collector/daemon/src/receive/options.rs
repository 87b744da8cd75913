// SPDX-License-Identifier: Apache-2.0
//! What to receive on.

use std::net::SocketAddr;

/// What to receive on.
#[derive(Clone, Debug)]
pub struct Options {
    /// UDP addresses to listen on.
    pub listen: Vec<SocketAddr>,
    /// Sockets, and threads, per address; at least 1.
    pub shards: usize,
    /// Receive buffer of each socket, bytes of the kernel's accounting (a small
    /// datagram counts for more than its length).
    pub buffer_bytes: usize,
    /// Let the kernel hand over coalesced datagrams in one piece.
    pub gro: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], int_report::DEFAULT_PORT))],
            shards: 1,
            buffer_bytes: 32 << 20,
            gro: true,
        }
    }
}
