// SPDX-License-Identifier: Apache-2.0
//! tcp_probe events: held back a little, then put to the flows.

use super::join::resolve_waiting;
use super::{Held, Pipeline};
use crate::flow::SampleState;
use crate::index::Packed;
use crate::rows::{Event, ProbeRow, Sink};
use crate::table::Found;
use int_report::FlowKey;
use std::collections::VecDeque;
use tcp_probe::Sample;

/// Samples whose flows are fetched before their turn, and those of them whose
/// packets are.
const FLOWS_AHEAD: usize = 8;
const PACKETS_AHEAD: usize = 5;
/// And those whose packets' marks are.
const MARKS_AHEAD: usize = 2;
/// How far back an event is sorted in by its time (CPUs are read in turn).
const SORT_DEPTH: usize = 256;
/// More data in flight than this is no valid pair of sequence numbers.
const MAX_INFLIGHT: u32 = 1 << 30;

impl<S: Sink> Pipeline<S> {
    /// Takes an event of a host.
    pub fn push_event(&mut self, host: &str, event: tcp_probe::Event) {
        self.push_events(host, std::iter::once(event));
    }

    /// Takes events of a host.
    pub fn push_events(&mut self, host: &str, events: impl IntoIterator<Item = tcp_probe::Event>) {
        let host = self.host(host);
        let hold_ns = u64::from(self.config.probe_hold_ms) * 1_000_000;
        for event in events {
            let Some(host) = host else {
                self.stats.events_unknown_flow += 1;
                continue;
            };
            let held = Held {
                due_rx_ns: self.now_rx_ns.saturating_add(hold_ns),
                host,
                event,
                slot: None,
            };
            let sorted = self.held.back().is_none_or(|last| !last.is_after(&held));
            self.held.push_back(held);
            if !sorted {
                self.sort_held();
            }
        }
    }

    /// Puts the last event into the order of their times; due times stay
    /// ascending.
    #[cold]
    fn sort_held(&mut self) {
        let mut i = self.held.len() - 1;
        let floor = i.saturating_sub(SORT_DEPTH);
        while i > floor && self.held[i - 1].is_after(&self.held[i]) {
            let due = self.held[i].due_rx_ns;
            self.held[i].due_rx_ns = self.held[i - 1].due_rx_ns;
            self.held[i - 1].due_rx_ns = due;
            self.held.swap(i, i - 1);
            i -= 1;
        }
    }

    /// Puts the events to use that have been held long enough.
    #[inline]
    pub(super) fn release_held(&mut self, now_rx_ns: u64) {
        if self.held.front().is_some_and(|h| h.due_rx_ns <= now_rx_ns) {
            self.release_due(now_rx_ns);
        }
    }

    #[inline(never)]
    fn release_due(&mut self, now_rx_ns: u64) {
        // So that they can be read where they lie.
        let mut held = std::mem::take(&mut self.held);
        while let Some(h) = held.front().filter(|h| h.due_rx_ns <= now_rx_ns) {
            match &h.event {
                tcp_probe::Event::Probe(s) => self.sample(h.host, s, h.slot),
                tcp_probe::Event::Retransmit(e) => self.retransmit(h.host, e),
                tcp_probe::Event::CongState(e) => self.congestion_state(h.host, e),
            }
            held.pop_front();
            self.fetch_ahead(&mut held);
        }
        self.held = held;
    }

    fn retransmit(&mut self, host: u16, e: &tcp_probe::RetransmitEvent) {
        self.stats.retransmit_events += 1;
        if let Some((flow_id, node_id, time_ns)) = self.place(host, &e.flow, e.time_ns) {
            self.emit_event(Event::Retransmit {
                flow_id,
                node_id,
                time_ns,
                host,
                host_ns: e.time_ns,
            });
        }
    }

    fn congestion_state(&mut self, host: u16, e: &tcp_probe::CongStateEvent) {
        self.stats.congestion_events += 1;
        if let Some((flow_id, node_id, time_ns)) = self.place(host, &e.flow, e.time_ns) {
            self.emit_event(Event::CongestionState {
                flow_id,
                node_id,
                time_ns,
                host,
                host_ns: e.time_ns,
                state: e.state,
            });
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
    #[inline(always)]
    fn fetch_ahead(&self, held: &mut VecDeque<Held>) {
        if let Some(held) = held.get_mut(FLOWS_AHEAD)
            && let tcp_probe::Event::Probe(s) = &held.event
        {
            held.slot = self.flows.find_ahead(Packed::of(&s.flow));
        }
        if let Some(held) = held.get(PACKETS_AHEAD)
            && let Some(found) = held.slot
        {
            self.flows.prefetch_oldest(found.slot);
        }
        if let Some(held) = held.get(MARKS_AHEAD)
            && let Some(found) = held.slot
            && let Some(flow) = self.flows.get(found.slot)
            && let Some(point) = flow.points.first()
        {
            for position in point.oldest_waiting().into_iter().flatten() {
                self.queue.prefetch(position);
            }
        }
    }

    #[inline(always)]
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
        if flow.cookie != Some(s.sock_cookie) {
            if flow.cookie.is_some() {
                // Another connection, whose SYN was not reported.
                self.stats.samples_other_socket += 1;
                flow.forget_sequences();
            }
            flow.cookie = Some(s.sock_cookie);
        }
        let before = flow.last_sample().map(|b| Before {
            time_ns: b.time_ns,
            snd_una: b.snd_una,
        });
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
        if newly_probed {
            self.announce(slot);
        }
        self.sample_at_points(host, slot, s, &sample, before);
    }

    /// What a sample tells of the flow at each port that reports it.
    #[inline(always)]
    fn sample_at_points(
        &mut self,
        host: u16,
        slot: u32,
        s: &Sample,
        sample: &SampleState,
        before: Option<Before>,
    ) {
        let Some(flow) = self.flows.get_mut(slot) else {
            return;
        };
        let flow_id = flow.id;
        // What the first sample acknowledges began with the first segment.
        let una_before = before.map_or(sample.snd_una, |b| b.snd_una);
        let acked_bytes = sample.snd_una.saturating_sub(una_before) as u32;
        for point in &mut flow.points {
            let Some(node) = self.nodes.get_mut(usize::from(point.node)) else {
                continue;
            };
            let pairs = node.clock.pairs(host);
            let before_ns = before.map(|b| b.time_ns);
            resolve_waiting(point, &mut self.queue, pairs, sample, before_ns);
            if before.is_some_and(|b| b.snd_una == sample.snd_una) {
                // A duplicate ACK: srtt now follows what SACK shows.
                point.disturbed();
            }
            if let Some(acked) = point.acked(una_before, sample.snd_una) {
                pairs.acked_before(acked.egress_ns, sample.time_ns);
            }
            let row = ProbeRow {
                order: self.order,
                host,
                host_ns: s.time_ns,
                node_id: node.state.node_id,
                port: point.port,
                time_ns: match pairs.mapping() {
                    Some(m) => m.to_node(s.time_ns),
                    None => node.state.max_ns(),
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

/// What matters of the sample before.
#[derive(Clone, Copy)]
struct Before {
    /// Host clock.
    time_ns: u64,
    snd_una: u64,
}

impl Held {
    /// Whether it belongs after another of the same host.
    #[inline]
    fn is_after(&self, other: &Self) -> bool {
        self.host == other.host && self.event.time_ns() > other.event.time_ns()
    }
}
