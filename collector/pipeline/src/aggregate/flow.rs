// SPDX-License-Identifier: Apache-2.0
//! One flow at one egress queue over one interval.

use super::link::Span;
use crate::rows::{Join, PostcardRow, ProbeRow};
use crate::tcp_flags::{FIN, RST, SYN};
use tidemark_proto::departures::{self, TENTHS};
use tidemark_proto::telemetry::{FlowInterval, ProbeInterval};

const FIN_OR_RST: u8 = FIN | RST;

/// Running totals of a [`FlowInterval`]: two cache lines, the first for packets, the second for
/// samples. Values that few packets have are in [`Rare`].
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(super) struct FlowTotals {
    flow_id: u64,
    ip_bytes: u64,
    delay_sum_ns: u64,
    /// Bytes of the frames around the `ip_bytes`, and of the headers within them.
    frame_bytes: u32,
    header_bytes: u32,
    port: u32,
    packets: u32,
    joined: u32,
    departures: [u16; TENTHS],
    samples: u32,
    /// Sampling shift of its packets.
    sampling_shift: u32,
    acked_bytes: u64,
    cwnd_first: u32,
    cwnd_last: u32,
    cwnd_min: u32,
    cwnd_max: u32,
    ssthresh_last: u32,
    snd_wnd_last_bytes: u32,
    inflight_min_bytes: u32,
    inflight_max_bytes: u32,
    inflight_last_bytes: u32,
    srtt_min_us: u32,
    srtt_last_us: u32,
    base_rtt_min_us: u32,
}

const _: () = assert!(size_of::<FlowTotals>() == 128);

/// Values that a flow has in few intervals.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rare {
    /// TCP flags of packets that begin or end a connection.
    flags: u8,
    /// Shortest feedback time; 0 if there is none.
    feedback_rtt_us: u32,
    unjoined: u32,
    drops: u32,
    retransmitted: u32,
    ce_marked: u32,
}

impl Rare {
    /// Whether a packet has any of these values.
    #[inline(always)]
    pub(super) fn is_in(row: &PostcardRow) -> bool {
        row.tcp_flags & (SYN | FIN_OR_RST) != 0
            || row.feedback_rtt_us > 0
            || row.dropped
            || row.ce_marked
            || row.retransmitted
            || row.join == Join::Unmatched
    }

    pub(super) fn packet(&mut self, row: &PostcardRow) {
        self.ce_marked += u32::from(row.ce_marked);
        if row.out_of_sample {
            return;
        }
        self.flags |= row.tcp_flags;
        let us = row.feedback_rtt_us;
        if us > 0 && (self.feedback_rtt_us == 0 || us < self.feedback_rtt_us) {
            self.feedback_rtt_us = us;
        }
        self.unjoined += u32::from(row.join == Join::Unmatched);
        self.drops += u32::from(row.dropped);
        self.retransmitted += u32::from(row.retransmitted);
    }
}

impl FlowTotals {
    pub(super) fn new(flow_id: u64, port: u32) -> Self {
        Self {
            flow_id,
            port,
            ..Self::default()
        }
    }

    #[inline(always)]
    pub(super) fn is_of(&self, flow_id: u64, port: u32) -> bool {
        self.flow_id == flow_id && self.port == port
    }

    /// Counts a packet of the flow that left in this tenth of the interval, or was dropped.
    #[inline]
    pub(super) fn packet(&mut self, row: &PostcardRow, tenth: usize) {
        if row.out_of_sample {
            return;
        }
        if !row.dropped {
            self.packets += 1;
            self.ip_bytes += u64::from(row.ip_bytes);
            let (frame, header) = (&mut self.frame_bytes, &mut self.header_bytes);
            *frame = frame.saturating_add(row.wire_overhead_bytes);
            *header = header.saturating_add(row.ip_bytes.saturating_sub(row.payload_bytes));
            let delay_ns = row.egress_ns.saturating_sub(row.ingress_ns);
            self.delay_sum_ns = self.delay_sum_ns.saturating_add(delay_ns);
            // The second cache line is not touched if every packet is reported.
            if row.sampling_shift > 0 {
                self.sampling_shift = row.sampling_shift.into();
            }
            if let Some(departures) = self.departures.get_mut(tenth) {
                *departures = departures.saturating_add(1);
            }
        }
        self.joined += u32::from(matches!(row.join, Join::Sequence | Join::Time));
    }

    /// Counts a sample of the flow's sender in this interval.
    #[inline]
    pub(super) fn sample(&mut self, row: &ProbeRow) {
        let inflight = row.snd_nxt.wrapping_sub(row.snd_una);
        let base = row.base_rtt_us;
        if self.samples == 0 {
            self.cwnd_first = row.cwnd;
            self.cwnd_min = row.cwnd;
            self.cwnd_max = row.cwnd;
            self.inflight_min_bytes = inflight;
            self.inflight_max_bytes = inflight;
            self.srtt_min_us = row.srtt_us;
            self.base_rtt_min_us = base;
        } else {
            self.cwnd_min = self.cwnd_min.min(row.cwnd);
            self.cwnd_max = self.cwnd_max.max(row.cwnd);
            self.inflight_min_bytes = self.inflight_min_bytes.min(inflight);
            self.inflight_max_bytes = self.inflight_max_bytes.max(inflight);
            self.srtt_min_us = self.srtt_min_us.min(row.srtt_us);
            if base > 0 && (self.base_rtt_min_us == 0 || base < self.base_rtt_min_us) {
                self.base_rtt_min_us = base;
            }
        }
        self.samples += 1;
        self.cwnd_last = row.cwnd;
        self.ssthresh_last = row.ssthresh;
        self.snd_wnd_last_bytes = row.snd_wnd_bytes;
        self.inflight_last_bytes = inflight;
        self.srtt_last_us = row.srtt_us;
        self.acked_bytes += u64::from(row.acked_bytes);
    }

    pub(super) fn record(&self, rare: Rare, node_id: u32, queue: u8, span: Span) -> FlowInterval {
        FlowInterval {
            flow_id: self.flow_id,
            node_id,
            port: self.port,
            queue: queue.into(),
            start_ns: span.start_ns,
            duration_ns: span.duration_ns,
            packets: self.packets,
            ip_bytes: self.ip_bytes,
            wire_bytes: self.ip_bytes + u64::from(self.frame_bytes),
            payload_bytes: self.ip_bytes.saturating_sub(self.header_bytes.into()),
            drops: rare.drops,
            ce_marked: rare.ce_marked,
            retransmitted_packets: rare.retransmitted,
            delay_sum_ns: self.delay_sum_ns,
            joined: self.joined,
            unjoined: rare.unjoined,
            probe: (self.samples > 0).then_some(ProbeInterval {
                samples: self.samples,
                cwnd_first: self.cwnd_first,
                cwnd_last: self.cwnd_last,
                cwnd_min: self.cwnd_min,
                cwnd_max: self.cwnd_max,
                ssthresh_last: self.ssthresh_last,
                snd_wnd_last_bytes: self.snd_wnd_last_bytes,
                inflight_min_bytes: self.inflight_min_bytes,
                inflight_max_bytes: self.inflight_max_bytes,
                inflight_last_bytes: self.inflight_last_bytes,
                srtt_min_us: self.srtt_min_us,
                srtt_last_us: self.srtt_last_us,
                base_rtt_min_us: self.base_rtt_min_us,
                acked_bytes: self.acked_bytes,
            }),
            syn: rare.flags & SYN != 0,
            fin_or_rst: rare.flags & FIN_OR_RST != 0,
            feedback_rtt_us: rare.feedback_rtt_us,
            departures: departures::pack(self.departures),
            stands_for: 1u32.checked_shl(self.sampling_shift).unwrap_or(u32::MAX),
        }
    }
}
