// SPDX-License-Identifier: Apache-2.0
//! Record of the traffic that was really sent: the yardstick of every estimate.

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

/// Version of this file's layout.
pub const VERSION: u32 = 1;

/// Everything that ran.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Truth {
    /// Layout of the file, [`VERSION`].
    pub version: u32,
    /// Of all that was random.
    pub seed: u64,
    /// Begin of the run.
    pub started: Moment,
    /// End of the run.
    pub stopped: Moment,
    /// Ended before its time by a signal or an error.
    pub interrupted: bool,
    /// In order of start.
    pub flows: Vec<FlowTruth>,
    /// Ended flows left out because more than [`MAX_FLOWS`] ran; their bytes are
    /// in `omitted_bytes_acked`.
    pub omitted_flows: u64,
    /// Payload acknowledged of the flows left out.
    pub omitted_bytes_acked: u64,
    /// Bytes received, by listener name.
    pub listeners: BTreeMap<String, ListenerTruth>,
}

/// Flows kept one by one; beyond it only their number and bytes, so that a run
/// of days stays within memory.
pub const MAX_FLOWS: usize = 500_000;

/// One flow.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FlowTruth {
    /// As in the spec; those of processes and users are numbered.
    pub name: String,
    /// Its intended class.
    pub kind: Kind,
    /// As read back from the socket.
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
    /// As told by the spec, for comparison with what was measured.
    pub base_rtt_ms: Option<f64>,
    /// Bytes the flow had to carry; absent for flows without an end.
    pub bytes_wanted: Option<u64>,
    /// Every byte wanted was acknowledged by the receiver's close.
    pub complete: bool,
    /// Why it failed, where it did.
    pub error: Option<String>,
    /// TCP_INFO at the end, of TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpState>,
    /// Its like, of QUIC; absent where it was never connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quic: Option<QuicState>,
    /// Packets sent, of datagrams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp: Option<DatagramState>,
}

impl FlowTruth {
    /// Payload that arrived, as far as that is known.
    pub fn bytes_acked(&self) -> u64 {
        let quic = self.quic.and_then(|q| q.bytes_delivered);
        (self.tcp.map(|t| t.bytes_acked)).or(quic).unwrap_or(0)
    }
}

/// One listener.
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
    /// Writes the file whole or not at all.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut partial = path.as_os_str().to_owned();
        partial.push(".part");
        let text = serde_json::to_vec_pretty(self).map_err(io::Error::other)?;
        fs::write(&partial, text)?;
        fs::rename(&partial, path)
    }
}
