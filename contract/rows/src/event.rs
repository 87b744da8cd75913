// SPDX-License-Identifier: Apache-2.0
//! Events, and as rows of one table: a kind and the columns that it has.

use crate::FlowKey;
use tidemark_proto::telemetry::ClockMapping;

use crate::FlatEvent;

/// Everything else that the interval records or an analysis need.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRow {
    /// Position among all rows of the capture.
    pub order: u64,
    /// What happened.
    pub event: Event,
}

/// The kinds of [`EventRow`].
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A flow was seen first, or more became known of it.
    Flow(FlowRow),
    /// tcp_retransmit_skb.
    Retransmit(HostMoment),
    /// tcp_cong_state_set.
    CongestionState {
        /// Of which flow, and when.
        at: HostMoment,
        /// 0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4 Loss.
        state: u8,
    },
    /// A host appeared; `ProbeRow::host` refers to it.
    Host {
        /// Index into the capture's list of hosts.
        host: u16,
        /// Its name.
        name: String,
    },
    /// How a host's clock and a node's relate.
    Clock(ClockMapping),
    /// Nothing older than this will follow from the node.
    Watermark {
        /// Node whose clock `time_ns` is of.
        node_id: u32,
        /// When, on the node's clock.
        time_ns: u64,
    },
    /// The node's clock started again.
    Restart {
        /// Node whose clock `time_ns` is of.
        node_id: u32,
        /// When, on the node's clock.
        time_ns: u64,
    },
}

/// An event of a host's TCP: of which flow, and when, on both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostMoment {
    /// Number of the flow.
    pub flow_id: u64,
    /// Node whose clock `time_ns` is of.
    pub node_id: u32,
    /// When, on the node's clock.
    pub time_ns: u64,
    /// Index into the capture's list of hosts.
    pub host: u16,
    /// When, on the host's clock.
    pub host_ns: u64,
}

/// Description of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowRow {
    /// Number of the flow in this capture.
    pub flow_id: u64,
    /// Addresses, ports and protocol.
    pub key: FlowKey,
    /// Node that showed it first.
    pub node_id: u32,
    /// When, on that node's clock.
    pub first_seen_ns: u64,
    /// Whether tcp_probe samples of it have come.
    pub probed: bool,
    /// RTT of the handshake; 0 = not seen.
    pub handshake_rtt_ns: u64,
    /// Largest segment; 0 = unknown.
    pub mss_bytes: u32,
}

impl FlatEvent {
    /// The columns of an event. `hosts`: names by index.
    pub fn new(row: &EventRow, hosts: &[String]) -> Self {
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
            Event::Retransmit(at) => {
                f.kind = "retransmit".into();
                f.set_moment(at, hosts);
            }
            Event::CongestionState { at, state } => {
                f.kind = "congestion_state".into();
                f.set_moment(at, hosts);
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

    fn set_moment(&mut self, at: &HostMoment, hosts: &[String]) {
        self.flow_id = Some(at.flow_id);
        self.node_id = Some(at.node_id);
        self.time_ns = Some(at.time_ns);
        self.host = hosts.get(usize::from(at.host)).cloned();
        self.host_index = Some(at.host);
        self.host_ns = Some(at.host_ns);
    }

    fn moment(&self) -> Option<HostMoment> {
        Some(HostMoment {
            flow_id: self.flow_id?,
            node_id: self.node_id?,
            time_ns: self.time_ns?,
            host: self.host_index?,
            host_ns: self.host_ns?,
        })
    }

    /// Back to an event; `None` for an unknown kind or one that lacks columns.
    pub fn event(&self) -> Option<EventRow> {
        let event = match self.kind.as_str() {
            "flow" => Event::Flow(FlowRow {
                flow_id: self.flow_id?,
                key: FlowKey {
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
            "retransmit" => Event::Retransmit(self.moment()?),
            "congestion_state" => Event::CongestionState {
                at: self.moment()?,
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
