// SPDX-License-Identifier: Apache-2.0
//! What the pipeline hands to a capture: joined packets, aligned samples,
//! events. Pushed through [`crate::Aggregator`] in ascending `order`, the rows
//! give the interval records again.

use int_report::FlowKey;
use tidemark_proto::telemetry::{ClockMapping, CollectorStatus, Update};

/// How the sender's state of a packet was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Join {
    /// No data packet of a probed flow.
    #[default]
    None = 0,
    /// By sequence number.
    Sequence = 1,
    /// By time through the clock mapping (retransmissions, last segments).
    Time = 2,
    /// Data packet of a probed flow without a sample.
    Unmatched = 3,
}

impl Join {
    /// The value stored in captures.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// From the stored value; unknown values are `None`.
    pub fn from_code(code: u8) -> Self {
        match code {
            1 => Self::Sequence,
            2 => Self::Time,
            3 => Self::Unmatched,
            _ => Self::None,
        }
    }

    /// Whether the sender's state is known.
    #[inline]
    pub fn matched(self) -> bool {
        matches!(self, Self::Sequence | Self::Time)
    }
}

/// One reported packet. Times in ns of the node's clock, sizes in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PostcardRow {
    /// Position among all rows of the capture.
    pub order: u64,
    /// Reception, collector's clock.
    pub rx_ns: u64,
    pub node_id: u32,
    pub hw_id: u8,
    pub sequence: u32,
    pub flow_id: u64,
    pub ingress_port: u32,
    /// Egress port (the intended one of a dropped packet).
    pub port: u32,
    pub queue: u8,
    pub ingress_ns: u64,
    /// 0 when dropped.
    pub egress_ns: u64,
    pub occupancy_bytes: u64,
    /// 0 = not reported or unlimited.
    pub limit_bytes: u64,
    pub ip_bytes: u32,
    /// Bytes beyond `ip_bytes` on the wire, from the port's description.
    pub wire_overhead_bytes: u32,
    pub payload_bytes: u32,
    pub tcp_seq: u32,
    pub tcp_ack: u32,
    pub tcp_flags: u8,
    pub ecn: u8,
    pub ce_marked: bool,
    pub dropped: bool,
    pub drop_reason: u8,
    pub sampling_shift: u8,
    /// Carries sequence numbers seen before at this port.
    pub retransmitted: bool,
    /// Reports found missing before this one; negative when a missing one
    /// came late.
    pub lost_before: i32,
    pub join: Join,
    /// Sender's state when the packet left it; 0 unless joined.
    pub cwnd: u32,
    pub ssthresh: u32,
    pub srtt_us: u32,
}

impl PostcardRow {
    /// Egress time, or ingress time of a dropped packet.
    #[inline]
    pub fn time_ns(&self) -> u64 {
        if self.dropped {
            self.ingress_ns
        } else {
            self.egress_ns
        }
    }
}

/// One tcp_probe sample of a flow that is reported, on a node's time axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbeRow {
    pub order: u64,
    /// Index into the capture's list of hosts.
    pub host: u16,
    pub host_ns: u64,
    pub node_id: u32,
    pub port: u32,
    /// Time of the sample on the node's clock.
    pub time_ns: u64,
    pub flow_id: u64,
    pub data_len_bytes: u16,
    pub snd_nxt: u32,
    pub snd_una: u32,
    /// Segments.
    pub cwnd: u32,
    pub ssthresh: u32,
    pub snd_wnd_bytes: u32,
    pub rcv_wnd_bytes: u32,
    pub srtt_us: u32,
    /// Smoothed RTT less equally smoothed queueing delay at this port; 0 while
    /// unknown.
    pub base_rtt_us: u32,
    /// Newly acknowledged since the sample before.
    pub acked_bytes: u32,
}

/// Everything else that the interval records or an analysis need.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRow {
    pub order: u64,
    pub event: Event,
}

/// The kinds of [`EventRow`].
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A flow was seen first, or more became known of it.
    Flow(FlowRow),
    /// tcp_retransmit_skb.
    Retransmit {
        flow_id: u64,
        node_id: u32,
        time_ns: u64,
        host: u16,
        host_ns: u64,
    },
    /// tcp_cong_state_set.
    CongestionState {
        flow_id: u64,
        node_id: u32,
        time_ns: u64,
        host: u16,
        host_ns: u64,
        state: u8,
    },
    /// A host appeared; `ProbeRow::host` refers to it.
    Host {
        host: u16,
        name: String,
    },
    Clock(ClockMapping),
    /// Nothing older than this will follow from the node.
    Watermark {
        node_id: u32,
        time_ns: u64,
    },
    /// The node's clock started anew.
    Restart {
        node_id: u32,
        time_ns: u64,
    },
}

/// Description of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowRow {
    pub flow_id: u64,
    pub key: FlowKey,
    pub node_id: u32,
    pub first_seen_ns: u64,
    pub probed: bool,
    pub handshake_rtt_ns: u64,
    pub mss_bytes: u32,
}

/// Takes what the pipeline produces.
pub trait Sink {
    fn postcard(&mut self, row: &PostcardRow);
    fn probe(&mut self, row: &ProbeRow);
    fn event(&mut self, row: &EventRow);
    fn update(&mut self, update: Update);
    /// Adds what only the sink's owner knows (datagrams, kernel drops, ...).
    fn status(&mut self, _status: &mut CollectorStatus) {}
}

/// Collects everything; for tests and small imports.
#[derive(Debug, Default)]
pub struct VecSink {
    pub postcards: Vec<PostcardRow>,
    pub probes: Vec<ProbeRow>,
    pub events: Vec<EventRow>,
    pub updates: Vec<Update>,
}

impl Sink for VecSink {
    fn postcard(&mut self, row: &PostcardRow) {
        self.postcards.push(*row);
    }
    fn probe(&mut self, row: &ProbeRow) {
        self.probes.push(*row);
    }
    fn event(&mut self, row: &EventRow) {
        self.events.push(row.clone());
    }
    fn update(&mut self, update: Update) {
        self.updates.push(update);
    }
}
