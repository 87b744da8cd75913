// SPDX-License-Identifier: Apache-2.0
//! The pipeline: composes the layers and advances time.

mod events;
mod look_ahead;
mod periodic;
mod timers;

use crate::accounting::{Accepted, Accounting, Packet, RefusedSource};
use crate::aggregate::Aggregator;
use crate::config::{Config, ConfigError};
use crate::emit::Emitter;
use crate::flow::{FlowIds, FlowTable};
use crate::join::Joiner;
use crate::prefetch::distance;
use crate::rows::{Event, FlowRow, Sink};
use crate::stats::Stats;
use crate::wire::{Contents, Datagram, Received, Stage, Staged};
use int_report::tag::Run;
use int_report::{DecodeError, FlowKey, InnerPacket, Report, parse_inner};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use timers::Timers;

/// Stands for the packet of a report that cannot be read.
const NO_PACKET: InnerPacket = InnerPacket {
    src: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    dst: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    protocol: 0,
    src_port: 0,
    dst_port: 0,
    ip_bytes: 0,
    beyond_bytes: 0,
    payload_bytes: 0,
    tcp_seq: 0,
    tcp_ack: 0,
    tcp_flags: 0,
    ecn: 0,
    fragment: false,
};

/// Turns datagrams and tcp_probe events into rows and interval records.
///
/// Pure: it reads no clock. Time comes in with the data and through
/// [`Pipeline::advance`], always as ns of the collector's clock. Rows leave
/// through the [`Sink`], which the pipeline owns, in one ascending order.
///
/// ```
/// use tidemark_pipeline::{Config, Datagram, Pipeline, VecSink};
///
/// let mut pipeline = Pipeline::new(Config::default(), VecSink::default())?;
/// let datagram = Datagram {
///     exporter: [192, 0, 2, 1].into(),
///     rx_ns: 1_000_000_000,
///     payload: b"no report",
/// };
/// let mut malformed = 0;
/// pipeline.push_datagrams([datagram], |_, _| malformed += 1);
/// pipeline.finish();
/// assert_eq!((pipeline.stats().reports, malformed), (0, 1));
/// # Ok::<(), tidemark_pipeline::ConfigError>(())
/// ```
#[derive(Debug)]
pub struct Pipeline<S> {
    config: Config,
    /// Finds missing, late and duplicate reports; holds the nodes' clocks and units.
    accounting: Accounting,
    /// The state of every flow.
    flows: FlowTable,
    /// Packets and samples that wait for each other; clock mappings.
    join: Joiner,
    /// The sink, the order of rows, and open intervals.
    emit: Emitter<S>,
    /// Times at which work is due.
    timers: Timers,
    /// Counters that the layers update.
    stats: Stats,
}

impl<S: Sink> Pipeline<S> {
    /// Creates a pipeline that has received nothing.
    ///
    /// # Errors
    /// If the configuration cannot be used.
    pub fn new(config: Config, sink: S) -> Result<Self, ConfigError> {
        Self::sharing_ids(config, FlowIds::default(), sink)
    }

    /// Creates one of several pipelines, which take flow ids from the same `ids`.
    ///
    /// # Errors
    /// If the configuration cannot be used.
    pub fn sharing_ids(config: Config, ids: FlowIds, sink: S) -> Result<Self, ConfigError> {
        config.validate()?;
        config.check_keys()?;
        let mut pipeline = Self {
            accounting: Accounting::new(&config),
            flows: FlowTable::new(config.max_flows, config.max_segment_memory_bytes, ids),
            join: Joiner::new(&config),
            emit: Emitter::new(Aggregator::of(&config), sink),
            timers: Timers::default(),
            stats: Stats::default(),
            config,
        };
        if let Some(name) = pipeline.config.local_host.clone() {
            pipeline.emit_event(Event::Host { host: 0, name });
        }
        Ok(pipeline)
    }

    /// Sets Unix time minus the clock of reception times, ns.
    pub fn set_unix_offset(&mut self, unix_minus_rx_ns: i64) {
        self.timers.unix_minus_rx_ns = unix_minus_rx_ns;
    }

    /// Notes that everything pushed from now on is handed over at `now_rx_ns` of the collector's
    /// clock. Reports and events wait in kernel buffers, and for long if the collector was stalled:
    /// they may lie far behind, and come in any order with each other. They wait for each other
    /// from the hand-over on or, if this is never called (files), from the reception of the
    /// reports.
    pub fn hand_over(&mut self, now_rx_ns: u64) {
        self.timers.tell(now_rx_ns);
        self.timers.handed_over_ns = self.timers.handed_over_ns.max(now_rx_ns);
        self.join.hand_over(self.timers.handed_over_ns);
    }

    /// Returns the configuration of the pipeline.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The sink of the rows.
    pub fn sink(&self) -> &S {
        &self.emit.sink
    }

    /// The sink of the rows.
    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.emit.sink
    }

    /// Ends the pipeline and returns its sink; call [`Pipeline::finish`] first.
    pub fn into_sink(self) -> S {
        self.emit.sink
    }

    /// Totals since the start.
    pub fn stats(&self) -> Stats {
        let mut stats = self.stats.clone();
        self.accounting.add_to(&mut stats);
        stats.flows_evicted = self.flows.evicted;
        stats.segments_evicted = self.flows.segments_evicted;
        self.emit.add_to(&mut stats);
        stats
    }

    /// Returns the first sources of refused reports, for the operator of the collector; the
    /// counters include all sources.
    pub fn refused_sources(&self) -> &[RefusedSource] {
        &self.accounting.refusals.0
    }

    /// Returns the newest datagram accepted of each node with a key whose exporter states its run.
    pub fn runs(&self) -> BTreeMap<u32, Run> {
        self.accounting.runs()
    }

    /// Returns the ids of nodes that are hops in the metadata of packets (INT-MD) and sent no
    /// report of their own, in ascending order: their drops are unknown.
    pub fn nodes_of_hops_alone(&self) -> Vec<u32> {
        self.accounting.nodes_of_hops_alone()
    }

    /// Number of flows remembered now.
    pub fn flows_active(&self) -> usize {
        self.flows.active()
    }

    /// Five-tuples of the flows remembered now.
    pub fn flow_keys(&self) -> impl Iterator<Item = &FlowKey> {
        self.flows.keys()
    }

    /// Memory taken by the segments of flows, bytes.
    pub fn segment_memory_bytes(&self) -> usize {
        self.flows.memory.taken_bytes
    }

    /// Number of packets waiting for their sample, and of samples held back.
    pub fn waiting(&self) -> (usize, usize) {
        (self.join.queued(), self.join.events.events.len())
    }

    /// Takes one report of `exporter`, received at `rx_ns` of the collector's clock. Reports of one
    /// datagram must come one after the other. Their tag is unknown here: reports of nodes with a
    /// key are refused.
    pub fn push_report(&mut self, exporter: IpAddr, report: &Report<'_>, rx_ns: u64) {
        let inner = parse_inner(&report.inner);
        self.take_slow(&Received {
            exporter: &exporter,
            rx_ns,
            report,
            tagged: None,
            inner: inner.as_ref(),
            hint: None,
        });
    }

    /// Decodes datagrams and takes their reports; calls `failed` for datagrams that cannot be
    /// decoded to their end. The result is the same as decoding each datagram and calling
    /// [`Pipeline::push_report`], in less time: see `wire`.
    pub fn push_datagrams<'a>(
        &mut self,
        datagrams: impl IntoIterator<Item = Datagram<'a>>,
        mut failed: impl FnMut(&mut S, DecodeError),
    ) {
        let mut datagrams = datagrams.into_iter();
        let mut stage = Stage::default();
        loop {
            let more = stage.fill(&mut datagrams, &self.flows);
            self.take_staged(&stage, &mut failed);
            if !more {
                return;
            }
        }
    }

    #[inline(always)]
    fn take_staged(&mut self, stage: &Stage<'_>, failed: &mut impl FnMut(&mut S, DecodeError)) {
        let staged = stage.datagrams();
        let prefetch = |flows: &FlowTable, staged: &Staged<'_>| {
            if let Some(hint) = staged.hint {
                flows.prefetch_newest(hint);
            }
        };
        for s in staged.iter().take(distance::SEGMENT_LISTS).flatten() {
            prefetch(&self.flows, s);
        }
        for (i, s) in staged.iter().enumerate() {
            if let Some(Some(s)) = staged.get(i + distance::SEGMENT_LISTS) {
                prefetch(&self.flows, s);
            }
            let Some(s) = s else { continue };
            match &s.contents {
                Contents::FastPath(fast) => {
                    let inner = fast.inner();
                    self.take(&Received {
                        exporter: &s.exporter,
                        rx_ns: s.rx_ns,
                        report: &fast.report(),
                        tagged: s.tagged,
                        inner: Ok(&inner),
                        hint: s.hint,
                    });
                }
                Contents::Decoded { start, end, error } => {
                    let mut is_own = true;
                    for decoded in stage.decoded(*start, *end) {
                        let report = &decoded.report;
                        let sender = report.hop.map_or(report.node_id, |h| h.reporter_id);
                        is_own = self.accounting.owns(sender);
                        if !is_own && report.hop.is_none() {
                            continue;
                        }
                        self.take_slow(&Received {
                            exporter: &s.exporter,
                            rx_ns: s.rx_ns,
                            report,
                            tagged: s.tagged,
                            inner: decoded.inner.as_ref(),
                            hint: s.hint.filter(|_| report.first_in_datagram),
                        });
                    }
                    if let Some(error) = error
                        && is_own
                    {
                        failed(&mut self.emit.sink, *error);
                    }
                }
            }
        }
    }

    /// A copy of [`Pipeline::take`] that is not inlined.
    #[inline(never)]
    fn take_slow(&mut self, received: &Received<'_>) {
        self.take(received);
    }

    #[inline(always)]
    fn take(&mut self, received: &Received<'_>) {
        match received.report.hop {
            None => self.stats.reports += 1,
            // A copy, which another pipeline counts.
            Some(hop) if !self.accounting.owns(hop.reporter_id) => {}
            Some(hop) => {
                self.stats.reports += u64::from(!hop.further);
                self.stats.hops += 1;
                self.stats.hops_further += u64::from(hop.further);
                self.stats.hops_left_out += u64::from(hop.left_out);
            }
        }
        if received.rx_ns > self.timers.now_rx_ns {
            self.timers.now_rx_ns = received.rx_ns;
            self.release_events(received.rx_ns);
            self.periodic();
        }
        self.report(received);
        self.emit_ready(self.timers.now_rx_ns);
    }

    /// Takes one report through the layers.
    #[inline(always)]
    fn report(&mut self, received: &Received<'_>) {
        let accepted = self
            .accounting
            .accept(&self.config, received, &mut self.stats);
        let Some(Accepted { node, times }) = accepted else {
            return;
        };
        if times.restarted {
            self.restart(node, times.ingress_ns, received.rx_ns);
        }
        let (inner, unread) = match received.inner {
            Ok(inner) => (inner, None),
            Err(e) => (&NO_PACKET, Some(e.index())),
        };
        let packet = Packet {
            node,
            rx_ns: received.rx_ns,
            ingress_ns: times.ingress_ns,
            egress_ns: times.egress_ns,
            absent: times.absent,
            report: received.report,
            inner,
            hint: received.hint,
        };
        let Some(node) = self.accounting.node_mut(node) else {
            return;
        };
        if !node.is_of_queue(&packet, &mut self.stats) {
            return;
        }
        if let Some(reason) = unread {
            if let Some(n) = self.stats.inner_errors.get_mut(reason) {
                *n += 1;
            }
            self.join.without_flow(&packet, node);
            return;
        }
        let (slot, changed) = self.flows.packet(&packet, &mut self.stats);
        if let Some(flow) = self.flows.with_memory(slot) {
            self.join.packet(&packet, node, slot, flow);
        }
        self.flows.bound_segments();
        if changed {
            self.announce(slot);
        }
    }

    /// Handles the restart of a node's clock: queued packets are of the old time axis.
    fn restart(&mut self, node: u16, time_ns: u64, rx_ns: u64) {
        self.emit_ready(u64::MAX);
        self.join.restart(node);
        self.accounting.restart(node, rx_ns);
        let node_id = self.accounting.node(node).map_or(0, |n| n.id);
        self.emit_event(Event::Restart { node_id, time_ns });
    }

    /// Hands on the packets that no longer wait, in the order of arrival.
    #[inline]
    fn emit_ready(&mut self, now_rx_ns: u64) {
        while let Some(row) = self.join.ready(now_rx_ns, &self.flows, &mut self.stats) {
            self.emit.postcard(row, &mut self.stats);
            self.join.pop();
            if self.emit.aggregator.has_many_flows() {
                self.prefetch_rows();
            }
        }
    }

    fn emit_event(&mut self, event: Event) {
        self.emit.event(event, &mut self.stats);
    }

    /// Hands the sink what is known of a flow.
    fn announce(&mut self, slot: u32) {
        let Some(flow) = self.flows.get(slot) else {
            return;
        };
        let node_id = self.accounting.node(flow.first_node).map_or(0, |n| n.id);
        self.emit_event(Event::Flow(FlowRow {
            flow_id: flow.id,
            key: flow.key,
            node_id,
            first_seen_ns: flow.first_seen_ns,
            probed: flow.probed,
            handshake_rtt_ns: flow.handshake_rtt_ns,
            mss_bytes: flow.mss_bytes,
        }));
    }
}

#[cfg(test)]
mod fast_path_tests;
#[cfg(test)]
mod segment_memory_tests;
#[cfg(test)]
mod stall_tests;
#[cfg(test)]
mod tag_tests;
#[cfg(test)]
mod tests;
