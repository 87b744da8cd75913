// SPDX-License-Identifier: Apache-2.0
//! Host events: held back briefly, then given to their flows.

use super::Pipeline;
use crate::flow::FlowHint;
use crate::join::{MAX_EVENTS, Place};
use crate::rows::{Event, HostMoment, Sink};
use int_report::FlowKey;
use tcp_probe::{CongStateEvent, RetransmitEvent, Sample};

impl<S: Sink> Pipeline<S> {
    /// Takes an event of a host.
    pub fn push_event(&mut self, host: &str, event: tcp_probe::Event) {
        self.push_events(host, std::iter::once(event));
    }

    /// Takes events of a host.
    pub fn push_events(&mut self, host: &str, events: impl IntoIterator<Item = tcp_probe::Event>) {
        self.push_shared(host, events.into_iter().map(|event| (event, false)));
    }

    /// Takes events of a host, some of them copies: another pipeline has these as well, because the
    /// pipeline of their flows was not known. Copies of flows that are unknown here are not
    /// counted, because the other pipeline counts them.
    pub fn push_shared(
        &mut self,
        host: &str,
        events: impl IntoIterator<Item = (tcp_probe::Event, bool)>,
    ) {
        let host = self.host(host);
        // Events that waited long do not reach their flows before reports that waited as long.
        let from_ns = self.timers.now_rx_ns.max(self.timers.handed_over_ns);
        for (event, is_copy) in events {
            match host {
                Some(host) => {
                    self.join.events.push(from_ns, host, event, is_copy);
                    if self.join.events.is_crowded() {
                        self.release_due(self.timers.now_rx_ns);
                    }
                }
                None => self.stats.events_without_host += u64::from(!is_copy),
            }
        }
    }

    /// Returns the index of a host; announces a new host.
    fn host(&mut self, name: &str) -> Option<u16> {
        let now_rx_ns = self.timers.now_rx_ns;
        if let Some(host) = self.join.hosts.find(name, now_rx_ns) {
            return Some(host);
        }
        let Place { host, is_reused } = self.join.hosts.add(name, now_rx_ns)?;
        if is_reused {
            self.stats.hosts_forgotten += 1;
            self.stats.events_without_host += self.join.forget_host(host);
        }
        let name = name.to_owned();
        self.emit_event(Event::Host { host, name });
        Some(host)
    }

    /// Gives the events that have been held long enough to their flows.
    #[inline]
    pub(super) fn release_events(&mut self, now_rx_ns: u64) {
        if self.join.events.is_due(now_rx_ns) {
            self.release_due(now_rx_ns);
        }
    }

    #[inline(never)]
    fn release_due(&mut self, now_rx_ns: u64) {
        // Taken out, so that the events can be read in place.
        let mut events = std::mem::take(&mut self.join.events.events);
        while let Some(e) = events.front()
            && (e.is_due(now_rx_ns) || events.len() > MAX_EVENTS)
        {
            self.stats.events_forced += u64::from(!e.is_due(now_rx_ns));
            match &e.event {
                event if e.is_copy && self.flows.find(event.flow()).is_none() => {}
                tcp_probe::Event::Probe(s) => self.sample(e.host, s, e.hint),
                tcp_probe::Event::Retransmit(r) => self.retransmit(e.host, r),
                tcp_probe::Event::CongState(c) => self.congestion_state(e.host, c),
            }
            events.pop_front();
            self.join.prefetch(&mut events, &self.flows);
            if self.emit.aggregator.has_many_flows() {
                self.prefetch_samples(&events);
            }
        }
        self.join.events.events = events;
    }

    #[inline(always)]
    fn sample(&mut self, host: u16, s: &Sample, hint: Option<FlowHint>) {
        let Some(new) = self.flows.sample(host, s, hint, &mut self.stats) else {
            return;
        };
        self.join.hosts.matched(host, self.timers.now_rx_ns);
        if new.newly_probed {
            self.announce(new.slot);
        }
        if let Some(flow) = self.flows.get_mut(new.slot) {
            let (emit, stats) = (&mut self.emit, &mut self.stats);
            self.join.sample(flow, &self.accounting, s, &new, |row| {
                emit.probe(row, stats);
            });
        }
    }

    fn retransmit(&mut self, host: u16, e: &RetransmitEvent) {
        self.stats.retransmit_events += 1;
        if let Some(at) = self.moment(host, &e.flow, e.time_ns) {
            self.emit_event(Event::Retransmit(at));
        }
    }

    fn congestion_state(&mut self, host: u16, e: &CongStateEvent) {
        self.stats.congestion_events += 1;
        if let Some(at) = self.moment(host, &e.flow, e.time_ns) {
            self.emit_event(Event::CongestionState { at, state: e.state });
        }
    }

    /// Flow, node and node time of a host's event.
    fn moment(&mut self, host: u16, key: &FlowKey, host_ns: u64) -> Option<HostMoment> {
        let found = self.flows.find(key).and_then(|slot| self.flows.get(slot));
        let Some(flow) = found else {
            self.stats.events_unknown_flow += 1;
            return None;
        };
        let node = self.accounting.node(flow.first_node)?;
        let mapping = self.join.mapping(flow.first_node, host);
        Some(HostMoment {
            flow_id: flow.id,
            node_id: node.id,
            time_ns: mapping.map_or(node.time.max_ns, |m| m.to_node(host_ns)),
            host,
            host_ns,
        })
    }
}
