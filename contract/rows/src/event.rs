// SPDX-License-Identifier: Apache-2.0
//! Events, and their form as rows of one table: a kind, and the columns of this kind.

use crate::FlowKey;
use tidemark_proto::telemetry::ClockMapping;

use crate::FlatEvent;

/// An event: any other row that interval records or an analysis need.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRow {
    /// Position among all rows of the capture.
    pub order: u64,
    /// The event.
    pub event: Event,
}

/// Kind and content of an [`EventRow`].
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A flow was seen for the first time, or more became known about it.
    Flow(FlowRow),
    /// tcp_retransmit_skb.
    Retransmit(HostMoment),
    /// tcp_cong_state_set.
    CongestionState {
        /// The flow, and the time.
        at: HostMoment,
        /// 0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4 Loss.
        state: u8,
    },
    /// A host appeared; `ProbeRow::host` refers to it.
    Host {
        /// Index into the capture's list of hosts.
        host: u16,
        /// Name of the host.
        name: String,
    },
    /// A mapping between a host's clock and a node's clock.
    Clock(ClockMapping),
    /// Nothing older than this time will follow from the node.
    Watermark {
        /// Node whose clock gives `time_ns`.
        node_id: u32,
        /// Time on the node's clock.
        time_ns: u64,
    },
    /// The node's clock restarted.
    Restart {
        /// Node whose clock gives `time_ns`.
        node_id: u32,
        /// Time on the node's clock.
        time_ns: u64,
    },
}

/// Flow and time, on both clocks, of an event of a host's TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostMoment {
    /// Number of the flow.
    pub flow_id: u64,
    /// Node whose clock gives `time_ns`.
    pub node_id: u32,
    /// Time on the node's clock.
    pub time_ns: u64,
    /// Index into the capture's list of hosts.
    pub host: u16,
    /// Time on the host's clock.
    pub host_ns: u64,
}

/// Description of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowRow {
    /// Number of the flow in this capture.
    pub flow_id: u64,
    /// Addresses, ports and protocol.
    pub key: FlowKey,
    /// Node that reported the flow first.
    pub node_id: u32,
    /// Time of the first report, on that node's clock.
    pub first_seen_ns: u64,
    /// Whether tcp_probe samples of the flow have arrived.
    pub probed: bool,
    /// RTT of the handshake; 0 if not seen.
    pub handshake_rtt_ns: u64,
    /// Largest segment; 0 if unknown.
    pub mss_bytes: u32,
}

impl FlatEvent {
    /// Returns the columns of an event. `hosts`: names by index. The pattern names every column,
    /// so that a column that is not filled does not compile.
    pub fn new(row: &EventRow, hosts: &[String]) -> Self {
        let mut f = Self::default();
        let Self {
            order,
            kind,
            node_id,
            time_ns,
            flow_id,
            host,
            host_index,
            host_ns,
            congestion_state,
            src,
            dst,
            src_port,
            dst_port,
            protocol,
            probed,
            handshake_rtt_ns,
            mss_bytes,
            clock_offset_ns,
            clock_drift_ppb,
            clock_reference_ns,
            clock_matched_pairs,
            unix_ns_at_reference,
        } = &mut f;
        *order = row.order;
        let mut set_moment = |at: &HostMoment| {
            *flow_id = Some(at.flow_id);
            *node_id = Some(at.node_id);
            *time_ns = Some(at.time_ns);
            *host = hosts.get(usize::from(at.host)).cloned();
            *host_index = Some(at.host);
            *host_ns = Some(at.host_ns);
        };
        match &row.event {
            Event::Flow(flow) => {
                *kind = "flow".into();
                *node_id = Some(flow.node_id);
                *time_ns = Some(flow.first_seen_ns);
                *flow_id = Some(flow.flow_id);
                *src = Some(flow.key.src.to_string());
                *dst = Some(flow.key.dst.to_string());
                *src_port = Some(flow.key.src_port);
                *dst_port = Some(flow.key.dst_port);
                *protocol = Some(flow.key.protocol);
                *probed = Some(flow.probed);
                *handshake_rtt_ns = Some(flow.handshake_rtt_ns);
                *mss_bytes = Some(flow.mss_bytes);
            }
            Event::Retransmit(at) => {
                *kind = "retransmit".into();
                set_moment(at);
            }
            Event::CongestionState { at, state } => {
                *kind = "congestion_state".into();
                set_moment(at);
                *congestion_state = Some(*state);
            }
            Event::Host { host: number, name } => {
                *kind = "host".into();
                *host_index = Some(*number);
                *host = Some(name.clone());
            }
            Event::Clock(c) => {
                *kind = "clock".into();
                *node_id = Some(c.node_id);
                *host = Some(c.host.clone());
                *clock_offset_ns = Some(c.offset_ns);
                *clock_drift_ppb = Some(c.drift_ppb);
                *clock_reference_ns = Some(c.reference_ns);
                *clock_matched_pairs = Some(c.matched_pairs);
                *unix_ns_at_reference = Some(c.unix_ns_at_reference);
            }
            Event::Watermark {
                node_id: node,
                time_ns: time,
            } => {
                *kind = "watermark".into();
                *node_id = Some(*node);
                *time_ns = Some(*time);
            }
            Event::Restart {
                node_id: node,
                time_ns: time,
            } => {
                *kind = "restart".into();
                *node_id = Some(*node);
                *time_ns = Some(*time);
            }
        }
        f
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

    /// Converts the row to an event; `None` if the kind is unknown or columns are missing.
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
