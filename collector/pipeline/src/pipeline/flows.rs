// SPDX-License-Identifier: Apache-2.0
//! What the packets tell of their flows.

use super::Pipeline;
use super::reports::{ACK, FIN, RST, SYN, TCP};
use crate::flow::{Flow, Syn};
use crate::node::Times;
use crate::rows::Sink;
use crate::table::Found;
use int_report::{InnerPacket, Report};

impl<S: Sink> Pipeline<S> {
    /// The flow of a packet, which learns from it.
    #[inline(always)]
    pub(super) fn flow_packet(
        &mut self,
        index: u16,
        rx_ns: u64,
        report: &Report<'_>,
        inner: &InnerPacket,
        times: Times,
        found: Option<Found>,
    ) -> u32 {
        let is_tcp = inner.protocol == TCP && !inner.fragment;
        let is_syn = is_tcp && inner.tcp_flags & SYN != 0;
        let mut changed = false;
        let found = self.flows.still(found);
        let slot = match found.or_else(|| self.flows.find(&inner.flow_key())) {
            Some(slot) => {
                let ended = is_syn
                    && self.flows.get(slot).is_some_and(|f| {
                        f.fin || f.has_data || f.syn.is_some_and(|syn| syn.seq != inner.tcp_seq)
                    });
                if ended {
                    self.flows.renew(slot, rx_ns, index, times.ingress_ns);
                    self.stats.flows += 1;
                    changed = true;
                }
                slot
            }
            None => {
                changed = true;
                self.stats.flows += 1;
                let key = inner.flow_key();
                self.flows.insert(key, rx_ns, index, times.ingress_ns)
            }
        };
        if let Some(flow) = self.flows.get_mut(slot) {
            flow.last_rx_ns = flow.last_rx_ns.max(rx_ns);
            if is_tcp {
                if inner.tcp_flags & (FIN | RST) != 0 {
                    flow.fin = true;
                }
                if is_syn || flow.awaits_answer() {
                    changed |= handshake(flow, index, report, inner, times);
                }
                if inner.payload_bytes > 0 && !is_syn {
                    flow.has_data = true;
                    if inner.payload_bytes > flow.mss_bytes {
                        flow.mss_bytes = inner.payload_bytes;
                        changed = true;
                    }
                }
            }
        }
        if changed {
            self.announce(slot);
        }
        slot
    }
}

/// A SYN, or a packet while the round trip of the handshake is not known; true
/// when it is known now.
#[cold]
fn handshake(
    flow: &mut Flow,
    node: u16,
    report: &Report<'_>,
    inner: &InnerPacket,
    times: Times,
) -> bool {
    if inner.tcp_flags & SYN == 0 {
        let Some(syn) = flow.syn else { return false };
        let rtt_ns = syn.answered_ns(
            node,
            inner.tcp_seq,
            report.dropped && inner.payload_bytes > 0,
            times.ingress_ns,
        );
        if let Some(rtt_ns) = rtt_ns {
            flow.handshake_rtt_ns = rtt_ns;
        }
        flow.set_syn(syn.followed_by(report.dropped, times.ingress_ns));
        return rtt_ns.is_some();
    }
    let seq = flow.unwrap(inner.tcp_seq);
    let p = flow.point(node, report.egress_port.unwrap_or(0));
    flow.points[p].arrival(seq, seq + 1, times.ingress_ns);
    if !report.dropped {
        flow.points[p].syn(times.egress_ns.saturating_sub(times.ingress_ns));
    }
    if inner.tcp_flags & ACK == 0 {
        // Whether one that passed before is being answered cannot be told; one
        // dropped here is not.
        let repeated = flow.syn.is_some_and(|s| s.repeated || !s.dropped);
        flow.set_syn(Syn {
            seq: inner.tcp_seq,
            egress_ns: times.egress_ns,
            node,
            repeated,
            dropped: report.dropped,
            first_drop_ns: u64::MAX,
        });
    }
    false
}
