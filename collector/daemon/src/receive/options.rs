// SPDX-License-Identifier: Apache-2.0
//! `[receive]`: how to receive.

use serde::{Deserialize, Serialize};

/// How reports are received from the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReceivePath {
    /// UDP sockets.
    Socket,
    /// Packet rings, which cost a fraction for datagrams that arrive one by one; sockets if there
    /// can be no ring. Needs CAP_NET_RAW at the start; the machine's rules for incoming packets
    /// (netfilter) do not apply to a ring.
    Ring,
}

/// Sockets of the report receiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReceiveConfig {
    /// Number of sockets per listening address, and of pipelines, among which the nodes are
    /// divided; each has its own thread.
    pub shards: usize,
    /// Receive buffer of each socket, in bytes as the kernel counts them (a small datagram counts
    /// for more than its length).
    pub buffer_bytes: usize,
    /// How reports are received from the kernel.
    pub path: ReceivePath,
    /// Whether the kernel may hand over coalesced datagrams in one piece.
    pub gro: bool,
}

impl Default for ReceiveConfig {
    fn default() -> Self {
        Self {
            shards: 1,
            buffer_bytes: 32 << 20,
            path: ReceivePath::Socket,
            gro: true,
        }
    }
}
