// SPDX-License-Identifier: Apache-2.0
//! The events, as both readers return them.

use std::net::IpAddr;

use int_report::FlowKey;

/// IP protocol number of TCP.
pub(crate) const PROTOCOL_TCP: u8 = 6;

/// One event recorded by the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// State of a socket.
    Probe(Sample),
    /// A segment is retransmitted.
    Retransmit(RetransmitEvent),
    /// Congestion control changes its state.
    CongState(CongStateEvent),
}

impl Event {
    /// Returns the event's time by the host clock, ns.
    #[must_use]
    #[inline]
    pub fn time_ns(&self) -> u64 {
        match self {
            Self::Probe(sample) => sample.time_ns,
            Self::Retransmit(event) => event.time_ns,
            Self::CongState(event) => event.time_ns,
        }
    }

    /// Returns the socket's flow: source = the local end.
    #[must_use]
    #[inline]
    pub fn flow(&self) -> &FlowKey {
        match self {
            Self::Probe(sample) => &sample.flow,
            Self::Retransmit(event) => &event.flow,
            Self::CongState(event) => &event.flow,
        }
    }
}

/// `tcp_probe`: state of a socket when a segment arrives, *before* the kernel
/// processes its acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Time by the host clock that the reader was told to use, ns.
    pub time_ns: u64,
    /// Flow; source = local end of the socket, the sender that this state governs. IPv4-mapped IPv6
    /// addresses are given as IPv4, as on the wire.
    pub flow: FlowKey,
    /// Payload bytes of the segment that arrived.
    pub data_len: u16,
    /// Next sequence number to send.
    pub snd_nxt: u32,
    /// First unacknowledged sequence number.
    pub snd_una: u32,
    /// Congestion window, segments.
    pub snd_cwnd: u32,
    /// Slow-start threshold, segments; `0x7fff_ffff` = never set.
    pub ssthresh: u32,
    /// The receiver's window, bytes.
    pub snd_wnd: u32,
    /// Smoothed round-trip time, µs.
    pub srtt_us: u32,
    /// The socket's own receive window, bytes.
    pub rcv_wnd: u32,
    /// The kernel's cookie of the socket; 0 before kernel 4.17.
    pub sock_cookie: u64,
}

/// `tcp_retransmit_skb`: a segment is retransmitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetransmitEvent {
    /// Time by the host clock, ns.
    pub time_ns: u64,
    /// Flow; source = local end.
    pub flow: FlowKey,
}

/// `tcp_cong_state_set`: congestion control changes its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CongStateEvent {
    /// Time by the host clock, ns.
    pub time_ns: u64,
    /// Flow; source = local end.
    pub flow: FlowKey,
    /// The new state, as in Linux: 0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4 Loss.
    pub state: u8,
}

/// Returns the flow of a local and a remote end.
#[inline]
pub(crate) fn flow(local: (IpAddr, u16), remote: (IpAddr, u16)) -> FlowKey {
    FlowKey {
        src: local.0.to_canonical(),
        dst: remote.0.to_canonical(),
        src_port: local.1,
        dst_port: remote.1,
        protocol: PROTOCOL_TCP,
    }
}
