// SPDX-License-Identifier: Apache-2.0
//! `[receive]`: how to receive.

use serde::{Deserialize, Serialize};

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
    /// Let the kernel hand over coalesced datagrams in one piece.
    pub gro: bool,
}

impl Default for ReceiveConfig {
    fn default() -> Self {
        Self {
            shards: 1,
            buffer_bytes: 32 << 20,
            gro: true,
        }
    }
}
