// SPDX-License-Identifier: Apache-2.0
//! State of a QUIC sender at the end of a flow.

use std::time::Duration;

use quinn::Connection;
use serde::{Deserialize, Serialize};

/// The sender's final state, as reported by quinn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuicState {
    /// Payload that the receiver had read; absent if it did not reply.
    pub bytes_delivered: Option<u64>,
    /// UDP payload sent, with QUIC's headers, including retransmissions.
    pub bytes_sent: u64,
    /// QUIC packets sent.
    pub packets_sent: u64,
    /// QUIC packets considered lost.
    pub packets_lost: u64,
    /// UDP payload of the lost packets.
    pub bytes_lost: u64,
    /// Reductions of the window, due to losses and CE marks.
    pub congestion_events: u64,
    /// UDP payload of a full packet.
    pub datagram_bytes: u16,
    /// Congestion window.
    pub cwnd_bytes: u64,
    /// Smoothed round-trip time.
    pub srtt_us: u64,
    /// Minimum round-trip time.
    pub min_rtt_us: u64,
}

impl QuicState {
    pub(super) fn of(connection: &Connection) -> Self {
        let stats = connection.stats();
        let us = |d: Duration| u64::try_from(d.as_micros()).unwrap_or(u64::MAX);
        Self {
            bytes_delivered: None,
            bytes_sent: stats.udp_tx.bytes,
            packets_sent: stats.path.sent_packets,
            packets_lost: stats.path.lost_packets,
            bytes_lost: stats.path.lost_bytes,
            congestion_events: stats.path.congestion_events,
            datagram_bytes: stats.path.current_mtu,
            cwnd_bytes: stats.path.cwnd,
            srtt_us: us(stats.path.rtt),
            min_rtt_us: us(stats.path.min_rtt),
        }
    }
}
