// SPDX-License-Identifier: Apache-2.0
//! Lines of the output.

use int_report::{InnerPacket, Report, parse_inner};
use serde::Serialize;
use std::net::IpAddr;

/// One report. Times and depths are in the node's own units, as it sent them; fields that a report
/// does not have are left out.
#[derive(Serialize)]
pub(super) struct Line {
    exporter: IpAddr,
    version: &'static str,
    node_id: u32,
    hw_id: u8,
    sequence: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    ingress_port: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    egress_port: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue_id: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue_occupancy: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hop_latency: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ingress_ts: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    egress_ts: Option<u64>,
    dropped: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    drop_reason: Option<u8>,
    ce_marked: bool,
    #[serde(flatten)]
    packet: Option<PacketLine>,
    /// Why the original packet cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    packet_error: Option<String>,
}

#[derive(Serialize)]
struct PacketLine {
    src: IpAddr,
    src_port: u16,
    dst: IpAddr,
    dst_port: u16,
    protocol: u8,
    ip_bytes: u32,
    payload_bytes: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    tcp_seq: Option<u32>,
    ecn: &'static str,
}

/// A datagram that cannot be read, or not to its end.
#[derive(Serialize)]
pub(super) struct Malformed {
    pub exporter: IpAddr,
    pub error: String,
    pub datagram_bytes: usize,
}

impl Line {
    pub(super) fn new(exporter: IpAddr, r: &Report<'_>) -> Self {
        let (packet, packet_error) = match parse_inner(&r.inner) {
            Ok(packet) => (Some(PacketLine::from(&packet)), None),
            Err(e) => (None, Some(e.to_string())),
        };
        Self {
            exporter,
            version: match r.version {
                0 => "0.5",
                1 => "1.0",
                _ => "2.0",
            },
            node_id: r.node_id,
            hw_id: r.hw_id,
            sequence: r.sequence,
            ingress_port: r.ingress_port,
            egress_port: r.egress_port,
            queue_id: r.queue_id,
            queue_occupancy: r.queue_occupancy,
            hop_latency: r.hop_latency,
            limit: r.limit,
            ingress_ts: r.ingress_ts,
            egress_ts: r.egress_ts,
            dropped: r.dropped,
            drop_reason: r.drop_reason,
            ce_marked: r.ce_marked(),
            packet,
            packet_error,
        }
    }
}

impl From<&InnerPacket> for PacketLine {
    fn from(p: &InnerPacket) -> Self {
        Self {
            src: p.src,
            src_port: p.src_port,
            dst: p.dst,
            dst_port: p.dst_port,
            protocol: p.protocol,
            ip_bytes: p.ip_bytes,
            payload_bytes: p.payload_bytes,
            tcp_seq: (p.protocol == 6).then_some(p.tcp_seq),
            ecn: ["Not-ECT", "ECT(1)", "ECT(0)", "CE"][usize::from(p.ecn & 3)],
        }
    }
}
