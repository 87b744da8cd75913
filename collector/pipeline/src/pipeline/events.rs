// SPDX-License-Identifier: Apache-2.0
//! tcp_probe events: held back a little, then put to the flows.

use super::{Held, Pipeline};
use crate::flow::SampleState;
use crate::index::Packed;
use crate::rows::{Event, ProbeRow, Sink};
use crate::table::Found;
use int_report::FlowKey;
use tcp_probe::Sample;

/// Samples whose flows are fetched before their turn, and those of them whose
/// packets are.
const FLOWS_AHEAD: usize = 8;
const PACKETS_AHEAD: usize = 5;
/// And those whose totals and packets' marks are.
const TOTALS_AHEAD: usize = 2;
/// How far back an event is sorted in by its time (CPUs are read in turn).
const SORT_DEPTH: usize = 256;
/// More data in flight than this is no valid pair of sequence numbers.
const MAX_INFLIGHT: u32 = 1 << 30;

impl<S: Sink> Pipeline<S> {
    /// Takes an event of a host.
    pub fn push_event(&mut self, host: &str, event: tcp_probe::Event) {
        let Some(host) = self.host(host) else {
            self.stats.events_unknown_flow += 1;
            return;
        };
        let hold_ns = u64::from(self.config.probe_hold_ms) * 1_000_000;
        self.held.push_back(Held {
            due_rx_ns: self.now_rx_ns.saturating_add(hold_ns),
            host,
            event,
            slot: None,
        });
        // Into the order of their times; due times stay ascending.
        let mut i = self.held.len() - 1;
        let floor = i.saturating_sub(SORT_DEPTH);
        while i > floor
            && self.held[i - 1].host == self.held[i].host
            && time_of(&self.held[i - 1].event) > time_of(&self.held[i].event)
        {
            let due = self.held[i].due_rx_ns;
            self.held[i].due_rx_ns = self.held[i - 1].due_rx_ns;
            self.held[i - 1].due_rx_ns = due;
            self.held.swap(i, i - 1);
            i -= 1;
        }
    }

    /// Puts the events to use that have been held long enough.
    pub(super) fn release_held(&mut self, now_rx_ns: u64) {
        while self.held.front().is_some_and(|h| h.due_rx_ns <= now_rx_ns) {
            let Some(held) = self.held.pop_front() else {
                break;
            };
            self.fetch_ahead();
            match held.event {
                tcp_probe::Event::Probe(s) => self.sample(held.host, &s, held.slot),
                tcp_probe::Event::Retransmit(e) => {
                    self.stats.retransmit_events += 1;
                    if let Some((flow_id, node_id, time_ns)) =
                        self.place(held.host, &e.flow, e.time_ns)
                    {
                        self.emit_event(Event::Retransmit {
                            flow_id,
                            node_id,
                            time_ns,
                            host: held.host,
                            host_ns: e.time_ns,
                        });
                    }
                }
                tcp_probe::Event::CongState(e) => {
                    self.stats.congestion_events += 1;
                    if let Some((flow_id, node_id, time_ns)) =
                        self.place(held.host, &e.flow, e.time_ns)
                    {
                        self.emit_event(Event::CongestionState {
                            flow_id,
                            node_id,
                            time_ns,
                            host: held.host,
                            host_ns: e.time_ns,
                            state: e.state,
                        });
                    }
                }
            }
        }
    }

    /// Flow, node and node time of a host's event.
    fn place(&mut self, host: u16, key: &FlowKey, host_ns: u64) -> Option<(u64, u32, u64)> {
        let found = self.flows.find(key).and_then(|slot| self.flows.get(slot));
        let Some(flow) = found else {
            self.stats.events_unknown_flow += 1;
            return None;
        };
        let node = self.nodes.get(usize::from(flow.first_node))?;
        let time_ns = node
            .clock
            .mapping(host)
            .map_or(node.state.max_ns(), |m| m.to_node(host_ns));
        Some((flow.id, node.state.node_id, time_ns))
    }

    /// Has the flow of a sample that comes soon brought near.
    #[inline]
    fn fetch_ahead(&mut self) {
        if let Some(held) = self.held.get_mut(FLOWS_AHEAD)
            && let tcp_probe::Event::Probe(s) = &held.event
        {
            held.slot = self.flows.find_ahead(Packed::of(&s.flow));
        }
        if let Some(Held {
            slot: Some(found), ..
        }) = self.held.get(PACKETS_AHEAD)
        {
            self.flows.prefetch_oldest(found.slot);
        }
        if let Some(Held {
            slot: Some(found),
            event: tcp_probe::Event::Probe(s),
            host,
            ..
        }) = self.held.get(TOTALS_AHEAD)
            && let Some(flow) = self.flows.get(found.slot)
            && let Some(point) = flow.points.first()
        {
            let node = &self.nodes[usize::from(point.node)];
            if let Some(m) = node.clock.mapping(*host) {
                let at = (node.state.node_id, m.to_node(s.time_ns));
                self.aggregator.foresee_sample(at, flow.id, point.port);
            }
            if let Some(position) = point.oldest_waiting() {
                self.queue.prefetch(position);
            }
        }
    }

    #[inline]
    fn sample(&mut self, host: u16, s: &Sample, found: Option<Found>) {
        self.stats.samples += 1;
        let found = self.flows.still(found);
        let Some(slot) = found.or_else(|| self.flows.find(&s.flow)) else {
            self.stats.samples_unknown_flow += 1;
            return;
        };
        let Some(flow) = self.flows.get_mut(slot) else {
            return;
        };
        if !flow.has_data {
            self.stats.samples_receiver += 1;
            return;
        }
        let inflight = s.snd_nxt.wrapping_sub(s.snd_una);
        if inflight > MAX_INFLIGHT {
            self.stats.samples_invalid += 1;
            return;
        }
        match flow.cookie {
            None => flow.cookie = Some(s.sock_cookie),
            Some(cookie) if cookie != s.sock_cookie => {
                // Another connection, whose SYN was not reported.
                self.stats.samples_other_socket += 1;
                flow.forget_sequences();
                flow.cookie = Some(s.sock_cookie);
            }
            Some(_) => {}
        }
        let before = flow.last_sample().copied();
        if before.is_some_and(|b| s.time_ns < b.time_ns) {
            self.stats.samples_late += 1;
            return;
        }
        let newly_probed = !flow.probed;
        flow.probed = true;
        flow.host = host;
        let snd_nxt = flow.unwrap(s.snd_nxt);
        let sample = flow.remember(SampleState {
            time_ns: s.time_ns,
            snd_nxt,
            snd_una: snd_nxt.saturating_sub(u64::from(inflight)),
            cwnd: s.snd_cwnd,
            ssthresh: s.ssthresh,
            srtt_us: s.srtt_us,
        });
        let acked_bytes = before.map_or(0, |b| sample.snd_una.saturating_sub(b.snd_una));
        if newly_probed {
            self.announce(slot);
        }
        self.resolve_waiting(slot, sample, before);
        self.sample_rows(host, slot, s, &sample, before, acked_bytes as u32);
    }

    fn sample_rows(
        &mut self,
        host: u16,
        slot: u32,
        s: &Sample,
        sample: &SampleState,
        before: Option<SampleState>,
        acked_bytes: u32,
    ) {
        let Some(flow) = self.flows.get_mut(slot) else {
            return;
        };
        let flow_id = flow.id;
        // What the first sample acknowledges began with the first segment.
        let una_before = before.map_or(sample.snd_una, |b| b.snd_una);
        for point in &mut flow.points {
            let node = &mut self.nodes[usize::from(point.node)];
            if before.is_some_and(|b| b.snd_una == sample.snd_una) {
                // A duplicate ACK: srtt now follows what SACK shows.
                point.disturbed();
            }
            if let Some(acked) = point.acked(una_before, sample.snd_una) {
                node.clock
                    .acked_before(host, acked.egress_ns, sample.time_ns);
            }
            let row = ProbeRow {
                order: self.order,
                host,
                host_ns: s.time_ns,
                node_id: node.state.node_id,
                port: point.port,
                time_ns: node
                    .clock
                    .mapping(host)
                    .map_or(node.state.max_ns(), |m| m.to_node(s.time_ns)),
                flow_id,
                data_len_bytes: s.data_len,
                snd_nxt: s.snd_nxt,
                snd_una: s.snd_una,
                cwnd: s.snd_cwnd,
                ssthresh: s.ssthresh,
                snd_wnd_bytes: s.snd_wnd,
                rcv_wnd_bytes: s.rcv_wnd,
                srtt_us: s.srtt_us,
                base_rtt_us: point.base_rtt_us(s.srtt_us),
                acked_bytes,
            };
            self.order += 1;
            self.stats.probe_rows += 1;
            self.sink.probe(&row);
            self.aggregator.probe(&row);
        }
    }
}

fn time_of(event: &tcp_probe::Event) -> u64 {
    match event {
        tcp_probe::Event::Probe(e) => e.time_ns,
        tcp_probe::Event::Retransmit(e) => e.time_ns,
        tcp_probe::Event::CongState(e) => e.time_ns,
    }
}
