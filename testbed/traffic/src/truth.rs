// SPDX-License-Identifier: Apache-2.0
//! Record of the traffic that was really sent: the reference for every estimate.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::clock::Moment;
use crate::datagrams::DatagramState;
use crate::quic::QuicState;
use crate::socket::TcpState;
use crate::spec::Kind;

/// Version of the file's format.
pub const VERSION: u32 = 1;

/// Everything that ran.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Truth {
    /// Version of the file's format, [`VERSION`].
    pub version: u32,
    /// Seed of everything random.
    pub seed: u64,
    /// Start of the run.
    pub started: Moment,
    /// End of the run.
    pub stopped: Moment,
    /// Whether a signal or an error ended the run early.
    pub interrupted: bool,
    /// Flows, ordered by start.
    pub flows: Vec<FlowTruth>,
    /// Number of ended flows left out because more than [`MAX_FLOWS`] ran; their bytes are in
    /// `omitted_bytes_acked`.
    pub omitted_flows: u64,
    /// Acknowledged payload of the omitted flows.
    pub omitted_bytes_acked: u64,
    /// Bytes received, by name of the listener.
    pub listeners: BTreeMap<String, ListenerTruth>,
}

/// Largest number of flows recorded individually; of others only number and bytes, so that a run of
/// days stays within memory.
pub const MAX_FLOWS: usize = 500_000;

/// A flow.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FlowTruth {
    /// Name in the spec, with a number for flows of processes and users.
    pub name: String,
    /// Its intended class.
    pub kind: Kind,
    /// Congestion control, as read back from the socket.
    pub congestion_control: String,
    /// Network namespace; absent: that of the process.
    pub netns: Option<String>,
    /// Address and port, as read back from the socket.
    pub source: SocketAddr,
    /// Address and port of the listener.
    pub destination: SocketAddr,
    /// IP protocol number.
    pub protocol: u8,
    /// The connect call.
    pub start: Moment,
    /// Last byte acknowledged, or the end of the run.
    pub stop: Moment,
    /// Base RTT from the spec, for comparison with measurements.
    pub base_rtt_ms: Option<f64>,
    /// Bytes the flow had to carry; absent if it had no end.
    pub bytes_wanted: Option<u64>,
    /// Whether every wanted byte was acknowledged by the receiver's close.
    pub complete: bool,
    /// Why the flow failed, if it did.
    pub error: Option<String>,
    /// Final TCP_INFO, for TCP flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpState>,
    /// Final QUIC state, for QUIC flows; absent if never connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quic: Option<QuicState>,
    /// Packet counts, for UDP flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp: Option<DatagramState>,
}

impl FlowTruth {
    /// Returns the payload that arrived, as far as known.
    pub fn bytes_acked(&self) -> u64 {
        let quic = self.quic.and_then(|q| q.bytes_delivered);
        (self.tcp.map(|t| t.bytes_acked)).or(quic).unwrap_or(0)
    }
}

/// A listener.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ListenerTruth {
    /// Address and port it listened on.
    pub address: String,
    /// Connections accepted.
    pub connections: u64,
    /// Payload received.
    pub bytes_received: u64,
    /// Connections that failed or could not be accepted.
    pub errors: u64,
}

impl Truth {
    /// Writes the file atomically.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut partial = path.as_os_str().to_owned();
        partial.push(".part");
        let text = serde_json::to_vec_pretty(self).map_err(io::Error::other)?;
        fs::write(&partial, text)?;
        fs::rename(&partial, path)
    }
}
