// SPDX-License-Identifier: Apache-2.0
//! Of the sender at the end of a flow.

use std::time::Duration;

use quinn::Connection;
use serde::{Deserialize, Serialize};

/// The sender's state at the end, as quinn tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuicState {
    /// Payload that the receiver had read; absent where it did not say so.
    pub bytes_delivered: Option<u64>,
    /// UDP payload sent, with QUIC's headers, every time.
    pub bytes_sent: u64,
    /// QUIC packets sent.
    pub packets_sent: u64,
    /// QUIC packets taken for lost.
    pub packets_lost: u64,
    /// UDP payload of these.
    pub bytes_lost: u64,
    /// Reductions of the window, by losses and by marks.
    pub congestion_events: u64,
    /// UDP payload of a whole packet.
    pub datagram_bytes: u16,
    /// Congestion window.
    pub cwnd_bytes: u64,
    /// Smoothed round-trip time.
    pub srtt_us: u64,
    /// Least round-trip time.
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
