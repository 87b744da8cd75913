// SPDX-License-Identifier: Apache-2.0
//! Joins the waiting packets of a flow with a new sample.

use super::Joiner;
use super::clock::Pairs;
use super::queue::PacketQueue;
use crate::accounting::Accounting;
use crate::flow::{Flow, FlowAtPort, NewSample, SampleState};
use crate::rows::{Join, ProbeRow};
use tcp_probe::Sample;

impl Joiner {
    /// Gives a sample to the packets that wait for it at each port that reports
    /// the flow; `emit` gets a row per port, complete but for its `order`.
    #[inline(always)]
    pub(crate) fn sample(
        &mut self,
        flow: &mut Flow,
        accounting: &Accounting,
        s: &Sample,
        new: &NewSample,
        mut emit: impl FnMut(ProbeRow),
    ) {
        let (flow_id, host) = (flow.id, flow.host);
        let NewSample { state, before, .. } = new;
        // The first sample has no previous `snd_una`: none of its acknowledged bytes count.
        let una_before = before.map_or(state.snd_una, |b| b.snd_una);
        let acked_bytes = state.snd_una.saturating_sub(una_before) as u32;
        for port in &mut flow.ports {
            let (Some(node), Some(joined)) = (
                accounting.node(port.node),
                self.nodes.get_mut(usize::from(port.node)),
            ) else {
                continue;
            };
            let pairs = joined.clock.pairs(host);
            let before_ns = before.map(|b| b.time_ns);
            resolve_waiting(port, &mut self.queue, pairs, state, before_ns);
            if before.is_some_and(|b| b.snd_una == state.snd_una) {
                // A duplicate ACK: srtt now follows what SACK shows.
                port.disturbed();
            }
            if let Some(acked) = port.acked(una_before, state.snd_una) {
                pairs.acked_before(acked.egress_ns, state.time_ns);
            }
            emit(ProbeRow {
                order: 0,
                host,
                host_ns: s.time_ns,
                node_id: node.id,
                port: port.port,
                queue: port.queue,
                time_ns: match pairs.mapping {
                    Some(m) => m.to_node(s.time_ns),
                    None => node.time.max_ns,
                },
                flow_id,
                data_len_bytes: s.data_len,
                snd_nxt: s.snd_nxt,
                snd_una: s.snd_una,
                cwnd: s.snd_cwnd,
                ssthresh: s.ssthresh,
                snd_wnd_bytes: s.snd_wnd,
                rcv_wnd_bytes: s.rcv_wnd,
                srtt_us: s.srtt_us,
                base_rtt_us: port.base_rtt_us(s.srtt_us),
                acked_bytes,
            });
        }
    }
}

/// Gives the waiting packets of a flow at a port the state of a new sample;
/// `before_ns`: host time of the sample before it.
#[inline(always)]
fn resolve_waiting(
    port: &mut FlowAtPort,
    queue: &mut PacketQueue,
    pairs: &mut Pairs,
    sample: &SampleState,
    before_ns: Option<u64>,
) {
    while let Some(segment) = port.shown(sample.snd_nxt) {
        if let Some(slot) = queue.waiting(segment.position()) {
            slot.fill(sample, Join::Sequence);
            if let Some(before_ns) = before_ns {
                pairs.sent_after(segment.ingress_ns(), before_ns);
            }
        }
    }
    while let Some(waiting) = port.wait_time.front()
        && waiting.host_ns <= sample.time_ns
    {
        if let Some(slot) = queue.waiting(waiting.position) {
            slot.fill(sample, Join::Time);
        }
        port.wait_time.pop_front();
    }
}
