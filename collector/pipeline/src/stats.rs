// SPDX-License-Identifier: Apache-2.0
//! Counters of the pipeline: nothing is dropped without one.

use crate::rows::Join;
use int_report::InnerError;
use serde::{Deserialize, Serialize};

/// Totals since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stats {
    /// Individual reports given to the pipeline.
    pub reports: u64,
    /// Datagrams missing by sequence number.
    pub reports_lost: u64,
    /// Datagrams that came after a higher number.
    pub reports_late: u64,
    /// Reports of datagrams seen before; not counted twice.
    pub reports_duplicate: u64,
    /// Sequence numbers too old to be judged.
    pub reports_stale: u64,
    /// Exporters that restarted their numbering.
    pub stream_restarts: u64,
    /// Datagrams of streams beyond the table's bound.
    pub streams_refused: u64,
    /// Reports without any timestamp.
    pub reports_without_time: u64,
    /// Reports whose time contradicts their node's others; their sequence
    /// numbers are not accounted for.
    pub reports_implausible_time: u64,
    /// Reports of nodes beyond the bound.
    pub nodes_refused: u64,
    /// Reports of nodes that the configuration does not name.
    pub reports_unconfigured_node: u64,
    /// Egress timestamp before ingress timestamp.
    pub negative_delays: u64,
    /// Reports whose inner packet cannot be read, by [`InnerError::LABELS`].
    pub inner_errors: [u64; InnerError::LABELS.len()],
    /// Drops for other reasons than the queue (route, TTL, ACL, ...).
    pub drops_not_of_queue: u64,
    /// Reports that sum up losses between two hosts (v0.5), and the packets.
    pub drop_summaries: u64,
    /// Packets lost according to them.
    pub summarised_drops: u64,
    /// tcp_probe samples given to the pipeline.
    pub samples: u64,
    /// Samples of flows no report has shown.
    pub samples_unknown_flow: u64,
    /// Samples of sockets that only receive.
    pub samples_receiver: u64,
    /// Samples older than one of the same flow before.
    pub samples_late: u64,
    /// Samples of another socket with the same addresses.
    pub samples_other_socket: u64,
    /// Sequence numbers of a sample make no sense.
    pub samples_invalid: u64,
    /// tcp_retransmit_skb events.
    pub retransmit_events: u64,
    /// tcp_cong_state_set events.
    pub congestion_events: u64,
    /// Events of flows no report has shown.
    pub events_unknown_flow: u64,
    /// Data packets of probed flows.
    pub join_candidates: u64,
    /// Of them, matched by sequence number.
    pub join_by_sequence: u64,
    /// Of them, matched by time.
    pub join_by_time: u64,
    /// Packets that could not wait because too many do.
    pub join_forced: u64,
    /// Flows seen.
    pub flows: u64,
    /// Flows pushed out of the full table.
    pub flows_evicted: u64,
    /// Rows too late for their interval; counted in the oldest open one.
    pub rows_late: u64,
    /// Rows too far ahead; counted in the youngest open interval.
    pub rows_ahead: u64,
    /// Rows of links beyond the bound per node.
    pub links_refused: u64,
    /// Packets handed to the sink.
    pub postcard_rows: u64,
    /// Samples handed to the sink.
    pub probe_rows: u64,
    /// Events handed to the sink.
    pub event_rows: u64,
}

impl Stats {
    /// Counts how a packet was joined.
    #[inline]
    pub(crate) fn count_join(&mut self, join: Join) {
        self.join_candidates += u64::from(join != Join::None);
        self.join_by_sequence += u64::from(join == Join::Sequence);
        self.join_by_time += u64::from(join == Join::Time);
    }

    /// Data packets matched with a sample.
    pub fn join_matched(&self) -> u64 {
        self.join_by_sequence + self.join_by_time
    }

    /// Matched part of the data packets of probed flows; 1 when there are none.
    pub fn matched_fraction(&self) -> f64 {
        if self.join_candidates == 0 {
            1.0
        } else {
            self.join_matched() as f64 / self.join_candidates as f64
        }
    }

    /// Every counter with its name and what it counts, for metrics.
    pub fn named(&self) -> Vec<(&'static str, &'static str, u64)> {
        vec![
            ("reports", "Individual reports decoded", self.reports),
            (
                "reports_lost",
                "Report datagrams missing by sequence number",
                self.reports_lost,
            ),
            (
                "reports_late",
                "Report datagrams that came after a higher number",
                self.reports_late,
            ),
            (
                "reports_duplicate",
                "Reports of datagrams seen before; not counted twice",
                self.reports_duplicate,
            ),
            (
                "reports_stale",
                "Report datagrams too old to be told late from duplicate",
                self.reports_stale,
            ),
            (
                "stream_restarts",
                "Exporters that restarted their numbering",
                self.stream_restarts,
            ),
            (
                "streams_refused",
                "Datagrams of streams beyond the table's bound",
                self.streams_refused,
            ),
            (
                "reports_without_time",
                "Reports without any timestamp",
                self.reports_without_time,
            ),
            (
                "reports_implausible_time",
                "Reports whose time contradicts their node's others",
                self.reports_implausible_time,
            ),
            (
                "nodes_refused",
                "Reports of nodes beyond the bound",
                self.nodes_refused,
            ),
            (
                "reports_unconfigured_node",
                "Reports of nodes that the configuration does not name",
                self.reports_unconfigured_node,
            ),
            (
                "negative_delays",
                "Reports with the egress before the ingress timestamp",
                self.negative_delays,
            ),
            (
                "inner_errors",
                "Reports whose inner packet cannot be read",
                self.inner_errors.iter().sum(),
            ),
            (
                "drops_not_of_queue",
                "Drop reports for other reasons than the queue",
                self.drops_not_of_queue,
            ),
            (
                "drop_summaries",
                "Reports that sum up losses between two hosts",
                self.drop_summaries,
            ),
            (
                "summarised_drops",
                "Packets lost according to them",
                self.summarised_drops,
            ),
            (
                "probe_samples",
                "tcp_probe samples put to the pipeline",
                self.samples,
            ),
            (
                "probe_samples_unknown_flow",
                "Samples of flows that no report has shown",
                self.samples_unknown_flow,
            ),
            (
                "probe_samples_receiver",
                "Samples of sockets that only receive",
                self.samples_receiver,
            ),
            (
                "probe_samples_late",
                "Samples older than one of the same flow before",
                self.samples_late,
            ),
            (
                "probe_samples_other_socket",
                "Samples of a new socket with known addresses",
                self.samples_other_socket,
            ),
            (
                "probe_samples_invalid",
                "Samples with impossible sequence numbers",
                self.samples_invalid,
            ),
            (
                "retransmit_events",
                "tcp_retransmit_skb events",
                self.retransmit_events,
            ),
            (
                "congestion_events",
                "tcp_cong_state_set events",
                self.congestion_events,
            ),
            (
                "events_unknown_flow",
                "Events of flows that no report has shown",
                self.events_unknown_flow,
            ),
            (
                "join_candidates",
                "Data packets of probed flows",
                self.join_candidates,
            ),
            (
                "join_by_sequence",
                "Of them, matched by sequence number",
                self.join_by_sequence,
            ),
            (
                "join_by_time",
                "Of them, matched by time",
                self.join_by_time,
            ),
            (
                "join_forced",
                "Packets that could not wait because too many did",
                self.join_forced,
            ),
            ("flows_seen", "Flows seen", self.flows),
            (
                "flows_evicted",
                "Flows pushed out of the full table",
                self.flows_evicted,
            ),
            (
                "rows_late",
                "Rows too late for their interval; counted in the oldest open one",
                self.rows_late,
            ),
            (
                "rows_ahead",
                "Rows too far ahead; counted in the youngest open interval",
                self.rows_ahead,
            ),
            (
                "links_refused",
                "Rows of egress queues beyond the bound per node",
                self.links_refused,
            ),
            (
                "postcard_rows",
                "Packets handed on by the pipeline",
                self.postcard_rows,
            ),
            (
                "probe_rows",
                "Samples handed on by the pipeline",
                self.probe_rows,
            ),
            (
                "event_rows",
                "Events handed on by the pipeline",
                self.event_rows,
            ),
        ]
    }
}
