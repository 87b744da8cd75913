// SPDX-License-Identifier: Apache-2.0
//! Counts of a UDP flow.

use serde::{Deserialize, Serialize};

/// Packets of a UDP flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatagramState {
    /// Packets handed to the kernel.
    pub packets_sent: u64,
    /// Their bytes, with IP and UDP headers.
    pub ip_bytes_sent: u64,
    /// Packets not taken by the kernel: no room in the socket, or nobody listens.
    pub packets_refused: u64,
}
