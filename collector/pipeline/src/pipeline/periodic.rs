// SPDX-License-Identifier: Apache-2.0
//! Work that is due by time: clock mappings, status, silent nodes.

use super::Pipeline;
use crate::rows::{Event, Sink};
use tidemark_proto::telemetry::{ClockMapping, CollectorStatus, Update};

/// How often mappings are recomputed.
const CLOCK_UPDATE_NS: u64 = 200_000_000;
/// How often mappings and status are published.
const PUBLISH_NS: u64 = 1_000_000_000;
/// A node silent for this long gets its intervals closed by the collector's clock.
const IDLE_NS: u64 = 500_000_000;
/// Watermarks of silent nodes stay this far in the past.
const IDLE_MARGIN_NS: u64 = 300_000_000;
/// Watermarks of silent nodes are at least this far apart.
const IDLE_STEP_NS: u64 = 50_000_000;

impl<S: Sink> Pipeline<S> {
    /// Advances the collector's clock; call it a few times a second.
    pub fn advance(&mut self, now_rx_ns: u64) {
        self.timers.tell(now_rx_ns);
        self.timers.now_rx_ns = self.timers.now_rx_ns.max(now_rx_ns);
        self.release_events(self.timers.now_rx_ns);
        self.emit_ready(self.timers.now_rx_ns);
        self.close_idle();
        self.periodic();
    }

    /// Ends everything that is open: no packet waits any longer, and all intervals are closed.
    pub fn finish(&mut self) {
        self.release_events(u64::MAX);
        self.emit_ready(u64::MAX);
        self.join.update_clocks();
        self.publish_clocks();
        self.emit.finish();
        self.publish_status();
    }

    /// The mappings between all nodes and hosts, as far as known.
    pub fn clocks(&self) -> Vec<ClockMapping> {
        let mut out = Vec::new();
        for (i, node) in (0u16..).zip(&self.accounting.nodes) {
            for (host, name) in (0u16..).zip(&self.join.hosts.names) {
                if let Some(m) = self.join.mapping(i, host) {
                    out.push(ClockMapping {
                        node_id: node.id,
                        host: name.clone(),
                        offset_ns: m.offset_ns,
                        drift_ppb: m.drift * 1e9,
                        reference_ns: m.reference_ns,
                        matched_pairs: m.matched_pairs,
                        unix_ns_at_reference: (node.first_rx_ns as i64)
                            .saturating_add(self.timers.unix_minus_rx_ns),
                    });
                }
            }
        }
        out
    }

    /// Does the periodic work that is due.
    #[inline]
    pub(super) fn periodic(&mut self) {
        let timers = &self.timers;
        if timers.now_rx_ns >= timers.next_clock_ns.min(timers.next_publish_ns) {
            self.do_periodic();
        }
    }

    #[cold]
    fn do_periodic(&mut self) {
        let now = self.timers.now_rx_ns;
        if now >= self.timers.next_clock_ns {
            self.timers.next_clock_ns = now + CLOCK_UPDATE_NS;
            self.join.update_clocks();
        }
        if now >= self.timers.next_publish_ns {
            self.timers.next_publish_ns = now + PUBLISH_NS;
            self.publish_clocks();
            self.publish_status();
        }
    }

    fn publish_clocks(&mut self) {
        for mapping in self.clocks() {
            self.emit_event(Event::Clock(mapping));
        }
    }

    fn publish_status(&mut self) {
        let mut status = CollectorStatus {
            flows: self.flows.active() as u64,
            nodes_of_hops_alone: self.nodes_of_hops_alone(),
            nodes_of_two_clocks: self.accounting.nodes_of_two_clocks(self.timers.now_rx_ns),
            ..self.stats().collector_status()
        };
        self.emit.sink.status(&mut status);
        self.emit.sink.update(Update {
            status: Some(status),
            ..Update::default()
        });
    }

    /// Closes the intervals of nodes that have fallen silent.
    fn close_idle(&mut self) {
        if self.timers.now_rx_ns < self.timers.deaf_until_ns {
            return;
        }
        for i in 0..self.accounting.nodes.len() as u16 {
            let queued = self.join.queued_of(i);
            let Some(node) = self.accounting.node_mut(i) else {
                continue;
            };
            let max_ns = node.time.max_ns;
            let silent_ns = self.timers.now_rx_ns.saturating_sub(node.last_rx_ns);
            if queued > 0 || silent_ns < IDLE_NS || max_ns == 0 {
                continue;
            }
            let time_ns = max_ns + silent_ns - IDLE_MARGIN_NS;
            if time_ns < node.idle_mark_ns.saturating_add(IDLE_STEP_NS) {
                continue;
            }
            node.idle_mark_ns = time_ns;
            node.time
                .tell_over(time_ns, silent_ns, self.timers.now_rx_ns);
            let node_id = node.id;
            self.emit_event(Event::Watermark { node_id, time_ns });
        }
    }
}
