// SPDX-License-Identifier: Apache-2.0
//! Packet counts of a UDP flow.

use serde::{Deserialize, Serialize};

/// Packet counts of a UDP flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatagramState {
    /// Packets handed to the kernel.
    pub packets_sent: u64,
    /// Bytes of these packets, with IP and UDP headers.
    pub ip_bytes_sent: u64,
    /// Packets that the kernel refused: the socket buffer was full, or nobody listens.
    pub packets_refused: u64,
}
