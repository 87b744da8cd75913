// SPDX-License-Identifier: Apache-2.0
//! What is done now and then: clocks, status, silent nodes.

use super::Pipeline;
use crate::rows::{Event, Sink};
use tidemark_proto::telemetry::{ClockMapping, CollectorStatus, Update};

/// How often mappings are computed anew.
const CLOCK_UPDATE_NS: u64 = 200_000_000;
/// How often mappings and status are published.
const PUBLISH_NS: u64 = 1_000_000_000;
/// A node silent for this long gets its intervals closed by the collector's clock.
const IDLE_NS: u64 = 500_000_000;
/// Watermarks of silent nodes stay this far behind.
const IDLE_MARGIN_NS: u64 = 300_000_000;
/// And are at least this far apart.
const IDLE_STEP_NS: u64 = 50_000_000;

impl<S: Sink> Pipeline<S> {
    /// The mappings between all nodes and hosts, as far as known.
    pub fn clocks(&self) -> Vec<ClockMapping> {
        let mut out = Vec::new();
        for node in &self.nodes {
            for (host, name) in self.hosts.iter().enumerate() {
                if let Some(m) = node.clock.mapping(host as u16) {
                    out.push(ClockMapping {
                        node_id: node.state.node_id,
                        host: name.clone(),
                        offset_ns: m.offset_ns,
                        drift_ppb: m.drift * 1e9,
                        reference_ns: m.reference_ns,
                        matched_pairs: m.matched_pairs,
                        unix_ns_at_reference: (node.first_rx_ns as i64)
                            .saturating_add(self.unix_minus_rx_ns),
                    });
                }
            }
        }
        out
    }

    /// Work that is due by the collector's clock.
    #[inline]
    pub(super) fn periodic(&mut self) {
        if self.now_rx_ns >= self.next_clock_ns.min(self.next_publish_ns) {
            self.periodic_work();
        }
    }

    #[cold]
    fn periodic_work(&mut self) {
        if self.now_rx_ns >= self.next_clock_ns {
            self.next_clock_ns = self.now_rx_ns + CLOCK_UPDATE_NS;
            for node in &mut self.nodes {
                node.clock.update();
            }
        }
        if self.now_rx_ns >= self.next_publish_ns {
            self.next_publish_ns = self.now_rx_ns + PUBLISH_NS;
            self.publish();
            self.publish_status();
        }
    }

    pub(super) fn publish(&mut self) {
        for mapping in self.clocks() {
            self.emit_event(Event::Clock(mapping));
        }
    }

    pub(super) fn publish_status(&mut self) {
        let s = self.stats();
        let mut status = CollectorStatus {
            reports_received: s.reports,
            reports_lost: s.reports_lost,
            reports_late: s.reports_late,
            reports_duplicate: s.reports_duplicate,
            probe_samples: s.samples,
            join_candidates: s.join_candidates,
            join_matched: s.join_matched(),
            flows: self.flows.active() as u64,
            flows_evicted: s.flows_evicted,
            ..CollectorStatus::default()
        };
        self.sink.status(&mut status);
        self.sink.update(Update {
            status: Some(status),
            ..Update::default()
        });
    }

    pub(super) fn close_idle(&mut self) {
        for i in 0..self.nodes.len() {
            let node = &mut self.nodes[i];
            let silent_ns = self.now_rx_ns.saturating_sub(node.last_rx_ns);
            if node.pending > 0 || silent_ns < IDLE_NS || node.state.max_ns() == 0 {
                continue;
            }
            let time_ns = node.state.max_ns() + silent_ns - IDLE_MARGIN_NS;
            if time_ns < node.idle_mark_ns.saturating_add(IDLE_STEP_NS) {
                continue;
            }
            node.idle_mark_ns = time_ns;
            let node_id = node.state.node_id;
            self.emit_event(Event::Watermark { node_id, time_ns });
        }
    }
}
