// SPDX-License-Identifier: Apache-2.0
//! Events as rows of one table: a kind and the columns that it uses.

use tidemark_pipeline::{Event, EventRow, FlowRow};
use tidemark_proto::telemetry::ClockMapping;

/// A row of the events table; what the kind does not use is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlatEvent {
    pub order: u64,
    pub kind: String,
    pub node_id: Option<u32>,
    pub time_ns: Option<u64>,
    pub flow_id: Option<u64>,
    pub host: Option<String>,
    pub host_index: Option<u16>,
    pub host_ns: Option<u64>,
    pub congestion_state: Option<u8>,
    pub src: Option<String>,
    pub dst: Option<String>,
    pub src_port: Option<u16>,
    pub dst_port: Option<u16>,
    pub protocol: Option<u8>,
    pub probed: Option<bool>,
    pub handshake_rtt_ns: Option<u64>,
    pub mss_bytes: Option<u32>,
    pub clock_offset_ns: Option<i64>,
    pub clock_drift_ppb: Option<f64>,
    pub clock_reference_ns: Option<u64>,
    pub clock_matched_pairs: Option<u64>,
    pub unix_ns_at_reference: Option<i64>,
}

impl FlatEvent {
    /// `hosts`: names by index.
    pub fn new(row: &EventRow, hosts: &[String]) -> Self {
        let name = |host: u16| hosts.get(usize::from(host)).cloned();
        let mut f = Self {
            order: row.order,
            ..Self::default()
        };
        match &row.event {
            Event::Flow(flow) => {
                f.kind = "flow".into();
                f.node_id = Some(flow.node_id);
                f.time_ns = Some(flow.first_seen_ns);
                f.flow_id = Some(flow.flow_id);
                f.src = Some(flow.key.src.to_string());
                f.dst = Some(flow.key.dst.to_string());
                f.src_port = Some(flow.key.src_port);
                f.dst_port = Some(flow.key.dst_port);
                f.protocol = Some(flow.key.protocol);
                f.probed = Some(flow.probed);
                f.handshake_rtt_ns = Some(flow.handshake_rtt_ns);
                f.mss_bytes = Some(flow.mss_bytes);
            }
            Event::Retransmit {
                flow_id,
                node_id,
                time_ns,
                host,
                host_ns,
            } => {
                f.kind = "retransmit".into();
                f.flow_id = Some(*flow_id);
                f.node_id = Some(*node_id);
                f.time_ns = Some(*time_ns);
                f.host = name(*host);
                f.host_index = Some(*host);
                f.host_ns = Some(*host_ns);
            }
            Event::CongestionState {
                flow_id,
                node_id,
                time_ns,
                host,
                host_ns,
                state,
            } => {
                f.kind = "congestion_state".into();
                f.flow_id = Some(*flow_id);
                f.node_id = Some(*node_id);
                f.time_ns = Some(*time_ns);
                f.host = name(*host);
                f.host_index = Some(*host);
                f.host_ns = Some(*host_ns);
                f.congestion_state = Some(*state);
            }
            Event::Host { host, name } => {
                f.kind = "host".into();
                f.host_index = Some(*host);
                f.host = Some(name.clone());
            }
            Event::Clock(c) => {
                f.kind = "clock".into();
                f.node_id = Some(c.node_id);
                f.host = Some(c.host.clone());
                f.clock_offset_ns = Some(c.offset_ns);
                f.clock_drift_ppb = Some(c.drift_ppb);
                f.clock_reference_ns = Some(c.reference_ns);
                f.clock_matched_pairs = Some(c.matched_pairs);
                f.unix_ns_at_reference = Some(c.unix_ns_at_reference);
            }
            Event::Watermark { node_id, time_ns } => {
                f.kind = "watermark".into();
                f.node_id = Some(*node_id);
                f.time_ns = Some(*time_ns);
            }
            Event::Restart { node_id, time_ns } => {
                f.kind = "restart".into();
                f.node_id = Some(*node_id);
                f.time_ns = Some(*time_ns);
            }
        }
        f
    }

    /// Back to an event; `None` for an unknown kind or one that lacks columns.
    pub fn event(&self) -> Option<EventRow> {
        let event = match self.kind.as_str() {
            "flow" => Event::Flow(FlowRow {
                flow_id: self.flow_id?,
                key: int_report::FlowKey {
                    src: self.src.as_ref()?.parse().ok()?,
                    dst: self.dst.as_ref()?.parse().ok()?,
                    src_port: self.src_port?,
                    dst_port: self.dst_port?,
                    protocol: self.protocol?,
                },
                node_id: self.node_id?,
                first_seen_ns: self.time_ns?,
                probed: self.probed?,
                handshake_rtt_ns: self.handshake_rtt_ns?,
                mss_bytes: self.mss_bytes?,
            }),
            "retransmit" => Event::Retransmit {
                flow_id: self.flow_id?,
                node_id: self.node_id?,
                time_ns: self.time_ns?,
                host: self.host_index?,
                host_ns: self.host_ns?,
            },
            "congestion_state" => Event::CongestionState {
                flow_id: self.flow_id?,
                node_id: self.node_id?,
                time_ns: self.time_ns?,
                host: self.host_index?,
                host_ns: self.host_ns?,
                state: self.congestion_state?,
            },
            "host" => Event::Host {
                host: self.host_index?,
                name: self.host.clone()?,
            },
            "clock" => Event::Clock(ClockMapping {
                node_id: self.node_id?,
                host: self.host.clone()?,
                offset_ns: self.clock_offset_ns?,
                drift_ppb: self.clock_drift_ppb?,
                reference_ns: self.clock_reference_ns?,
                matched_pairs: self.clock_matched_pairs?,
                unix_ns_at_reference: self.unix_ns_at_reference?,
            }),
            "watermark" => Event::Watermark {
                node_id: self.node_id?,
                time_ns: self.time_ns?,
            },
            "restart" => Event::Restart {
                node_id: self.node_id?,
                time_ns: self.time_ns?,
            },
            _ => return None,
        };
        Some(EventRow {
            order: self.order,
            event,
        })
    }
}
