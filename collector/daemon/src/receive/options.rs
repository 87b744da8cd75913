// SPDX-License-Identifier: Apache-2.0
//! `[receive]`: how to receive.

use serde::{Deserialize, Serialize};

/// Ways of reports from the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReceivePath {
    /// UDP sockets.
    Socket,
    /// Rings of packets, which cost a fraction for datagrams that come one by one; sockets
    /// where there can be none. Needs CAP_NET_RAW at the start; the machine's own rules
    /// for what comes in (netfilter) do not reach a ring.
    Ring,
}

/// Sockets of the report receiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReceiveConfig {
    /// Sockets, with a thread each, per listening address; and pipelines, with a
    /// thread each, among which the nodes are dealt out.
    pub shards: usize,
    /// Receive buffer of each socket, bytes of the kernel's accounting (a small
    /// datagram counts for more than its length).
    pub buffer_bytes: usize,
    /// Way from the kernel.
    pub path: ReceivePath,
    /// Let the kernel hand over coalesced datagrams in one piece.
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
