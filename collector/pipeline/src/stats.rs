// SPDX-License-Identifier: Apache-2.0
//! Counters of the pipeline: nothing is dropped uncounted. Each is declared once; its doc comment
//! is the help text of the metric.

use crate::rows::Join;
use daemon_kit::metrics;
use int_report::InnerError;
use serde::{Deserialize, Serialize};
use tidemark_proto::telemetry::CollectorStatus;

metrics! {
    /// Totals since the start.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default)]
    pub struct Stats: Sum {
        /// Individual reports decoded.
        counter reports: u64,
        /// Report datagrams missing by sequence number.
        counter reports_lost: u64,
        /// Lost report datagrams of outages in which the numbers wrapped; estimated from the rate
        /// before and the length of the outage.
        counter reports_lost_estimated: u64,
        /// Numbers missing while the numbers of a stream repeatedly contradict each other: several
        /// senders with one identity, or forged reports. It is unknown whether reports were lost.
        counter reports_lost_in_doubt: u64,
        /// Report datagrams that came after a higher number.
        counter reports_late: u64,
        /// Reports of datagrams seen before; not counted twice.
        counter reports_duplicate: u64,
        /// Report datagrams with the number of another datagram: their exporter does not number
        /// them, and its losses are unknown.
        counter reports_unnumbered: u64,
        /// Report datagrams too old to tell whether they are late or duplicates.
        counter reports_stale: u64,
        /// Jumps in numbering that the next datagram did not confirm; not counted as lost.
        counter reports_implausible_sequence: u64,
        /// Exporters that restarted their numbering.
        counter stream_restarts: u64,
        /// Datagrams of streams beyond the limit of the table.
        counter streams_refused: u64,
        /// Records of hops, from metadata that packets carried (INT-MD).
        counter hops: u64,
        /// Records of hops other than the first one of each report.
        counter hops_further: u64,
        /// Hops without a record: the packet was cut before them, or they have no node id.
        counter hops_left_out: u64,
        /// Reports without any timestamp; they count at the time of their reception.
        counter reports_without_time: u64,
        /// Reports whose time contradicts the other reports of their node.
        counter reports_implausible_time: u64,
        /// Reports of nodes that are refused: unknown nodes, or too many of them.
        counter nodes_refused: u64,
        /// Reports from addresses that their node's configuration does not name.
        counter reports_refused_exporter: u64,
        /// Reports without a tag, of nodes that have a key.
        counter reports_refused_no_tag: u64,
        /// Reports whose tag does not match their node's keys.
        counter reports_refused_wrong_tag: u64,
        /// Reports of nodes with a key that were repeated, are of an earlier run, are more than 1 s
        /// older than the newest, or are too old to be told from repeated ones.
        counter reports_refused_replayed: u64,
        /// Reports whose tag is not checked, because their node has no key.
        counter reports_tag_unchecked: u64,
        /// Reports of nodes that the configuration does not name.
        counter reports_unconfigured_node: u64,
        /// Reports whose egress timestamp is before their ingress timestamp.
        counter negative_delays: u64,
        /// Reports whose inner packet cannot be read: their rows have no flow.
        counter inner_errors: [u64; InnerError::LABELS.len()] = "inner_errors_by_reason"
            => "reason" in InnerError::LABELS,
        /// Drop reports for reasons other than the queue.
        counter drops_not_of_queue: u64,
        /// Reports that sum up losses between two hosts.
        counter drop_summaries: u64,
        /// Packets lost according to drop summaries.
        counter summarised_drops: u64,
        /// tcp_probe samples given to the pipeline.
        counter samples: u64 = "probe_samples",
        /// Samples of flows that no report has shown.
        counter samples_unknown_flow: u64 = "probe_samples_unknown_flow",
        /// Samples of sockets that only receive.
        counter samples_receiver: u64 = "probe_samples_receiver",
        /// Samples that came after a newer sample of the same flow.
        counter samples_late: u64 = "probe_samples_late",
        /// Samples of a new socket with known addresses.
        counter samples_other_socket: u64 = "probe_samples_other_socket",
        /// Samples with impossible sequence numbers.
        counter samples_invalid: u64 = "probe_samples_invalid",
        /// tcp_retransmit_skb events.
        counter retransmit_events: u64,
        /// tcp_cong_state_set events.
        counter congestion_events: u64,
        /// Events of flows that no report has shown.
        counter events_unknown_flow: u64,
        /// Hosts replaced by a new host because there were too many: unmatched hosts go first.
        counter hosts_forgotten: u64,
        /// Events of hosts beyond the limit, or of hosts replaced before the events were processed.
        counter events_without_host: u64,
        /// Events of hosts released early because too many were held back.
        counter events_forced: u64,
        /// Data packets of probed flows.
        counter join_candidates: u64,
        /// Data packets of probed flows matched with a sample by sequence number.
        counter join_by_sequence: u64,
        /// Data packets of probed flows matched with a sample by time.
        counter join_by_time: u64,
        /// Packets that stopped waiting for a sample because too many waited.
        counter join_forced: u64,
        /// Flows seen.
        counter flows: u64 = "flows_seen",
        /// Flows evicted from the full table.
        counter flows_evicted: u64,
        /// Segments, gaps and waiting packets forgotten because those of all flows took too
        /// much memory.
        counter segments_evicted: u64,
        /// Rows too late for their interval; counted in the oldest open interval.
        counter rows_late: u64,
        /// Rows too far ahead; counted in the newest open interval.
        counter rows_ahead: u64,
        /// Intervals handed on early because the open intervals took too much memory.
        counter intervals_forced: u64,
        /// Rows of egress queues beyond the limit per node; not counted.
        counter links_refused: u64,
        /// Packets handed on by the pipeline.
        counter postcard_rows: u64,
        /// Samples handed on by the pipeline.
        counter probe_rows: u64,
        /// Events handed on by the pipeline.
        counter event_rows: u64,
    }
}

impl Stats {
    /// Counts how a packet was joined.
    #[inline]
    pub(crate) fn count_join(&mut self, join: Join) {
        self.join_candidates += u64::from(join != Join::None);
        self.join_by_sequence += u64::from(join == Join::Sequence);
        self.join_by_time += u64::from(join == Join::Time);
    }

    /// Number of reports refused because of their source.
    pub fn reports_refused(&self) -> u64 {
        self.nodes_refused
            + self.reports_refused_exporter
            + self.reports_refused_no_tag
            + self.reports_refused_wrong_tag
            + self.reports_refused_replayed
    }

    /// Number of reports whose packet carries the metadata of its hops.
    pub fn reports_of_hops(&self) -> u64 {
        self.hops.saturating_sub(self.hops_further)
    }

    /// Number of data packets matched with a sample.
    pub fn join_matched(&self) -> u64 {
        self.join_by_sequence + self.join_by_time
    }

    /// Converts the counters to a collector's status.
    pub fn collector_status(&self) -> CollectorStatus {
        CollectorStatus {
            reports_received: self.reports,
            reports_lost: self.reports_lost,
            reports_late: self.reports_late,
            reports_duplicate: self.reports_duplicate,
            reports_implausible_sequence: self.reports_implausible_sequence,
            reports_of_hops: self.reports_of_hops(),
            probe_samples: self.samples,
            join_candidates: self.join_candidates,
            join_matched: self.join_matched(),
            flows: self.flows,
            flows_evicted: self.flows_evicted,
            ..CollectorStatus::default()
        }
    }

    /// Fraction of the data packets of probed flows that were matched; `None` if there are none.
    pub fn matched_fraction(&self) -> Option<f64> {
        let candidates = self.join_candidates;
        (candidates > 0).then(|| self.join_matched() as f64 / candidates as f64)
    }
}
