// SPDX-License-Identifier: Apache-2.0
//! One flow at one egress port over one interval.

use crate::rows::{Join, PostcardRow, ProbeRow};
use tidemark_proto::telemetry::{FlowInterval, ProbeInterval};

const FIN_OR_RST: u8 = 0x05;
const SYN: u8 = 0x02;

/// Running totals of a [`FlowInterval`].
#[derive(Debug, Default)]
pub struct FlowTotals {
    record: FlowInterval,
}

impl FlowTotals {
    /// A packet of the flow left, or was dropped, in this interval.
    #[inline]
    pub fn packet(&mut self, row: &PostcardRow) {
        let r = &mut self.record;
        if row.dropped {
            r.drops += 1;
        } else {
            r.packets += 1;
            r.ip_bytes += u64::from(row.ip_bytes);
            r.wire_bytes += u64::from(row.ip_bytes + row.wire_overhead_bytes);
            r.payload_bytes += u64::from(row.payload_bytes);
            r.delay_sum_ns += row.egress_ns.saturating_sub(row.ingress_ns);
        }
        r.ce_marked += u32::from(row.ce_marked);
        r.retransmitted_packets += u32::from(row.retransmitted);
        match row.join {
            Join::None => {}
            Join::Unmatched => r.unjoined += 1,
            Join::Sequence | Join::Time => r.joined += 1,
        }
        r.syn |= row.tcp_flags & SYN != 0;
        r.fin_or_rst |= row.tcp_flags & FIN_OR_RST != 0;
    }

    /// A sample of the flow's sender fell into this interval.
    #[inline]
    pub fn sample(&mut self, row: &ProbeRow) {
        let inflight = row.snd_nxt.wrapping_sub(row.snd_una);
        let base = row.base_rtt_us;
        match &mut self.record.probe {
            None => {
                self.record.probe = Some(ProbeInterval {
                    samples: 1,
                    cwnd_first: row.cwnd,
                    cwnd_last: row.cwnd,
                    cwnd_min: row.cwnd,
                    cwnd_max: row.cwnd,
                    ssthresh_last: row.ssthresh,
                    snd_wnd_last_bytes: row.snd_wnd_bytes,
                    inflight_min_bytes: inflight,
                    inflight_max_bytes: inflight,
                    inflight_last_bytes: inflight,
                    srtt_min_us: row.srtt_us,
                    srtt_last_us: row.srtt_us,
                    base_rtt_min_us: base,
                    acked_bytes: row.acked_bytes.into(),
                });
            }
            Some(p) => {
                p.samples += 1;
                p.cwnd_last = row.cwnd;
                p.cwnd_min = p.cwnd_min.min(row.cwnd);
                p.cwnd_max = p.cwnd_max.max(row.cwnd);
                p.ssthresh_last = row.ssthresh;
                p.snd_wnd_last_bytes = row.snd_wnd_bytes;
                p.inflight_min_bytes = p.inflight_min_bytes.min(inflight);
                p.inflight_max_bytes = p.inflight_max_bytes.max(inflight);
                p.inflight_last_bytes = inflight;
                p.srtt_min_us = p.srtt_min_us.min(row.srtt_us);
                p.srtt_last_us = row.srtt_us;
                if base > 0 && (p.base_rtt_min_us == 0 || base < p.base_rtt_min_us) {
                    p.base_rtt_min_us = base;
                }
                p.acked_bytes += u64::from(row.acked_bytes);
            }
        }
    }

    /// The finished record.
    pub fn record(
        self,
        flow_id: u64,
        (node_id, port): (u32, u32),
        start_ns: u64,
        duration_ns: u64,
    ) -> FlowInterval {
        FlowInterval {
            flow_id,
            node_id,
            port,
            start_ns,
            duration_ns,
            ..self.record
        }
    }
}
