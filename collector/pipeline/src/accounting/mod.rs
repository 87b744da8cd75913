// SPDX-License-Identifier: Apache-2.0
//! Accounting layer: finds missing, late and duplicate reports, and unwraps each packet's times at
//! its node.
//!
//! Sequence numbers count datagrams per (exporter, node, hw_id). A report that passes this layer is
//! no duplicate, is about one packet of a queue, and has unwrapped times.

mod elsewhere;
mod node;
mod reception;
mod refusals;
mod rival;
mod set_back;
mod tag_check;
mod time;

pub(crate) use node::Node;
pub use refusals::{RefusalReason, RefusedSource};
pub(crate) use time::{MAX_TIME_NS, Times};

use crate::config::{Config, UnknownNodes};
use crate::flow::FlowHint;
use crate::stats::Stats;
use crate::wire::Received;
use elsewhere::Elsewhere;
use int_report::sequence::{Outcome, StreamConfig, StreamKey, StreamTable};
use int_report::tag::Run;
use int_report::{InnerPacket, Report};
use refusals::Refusals;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use tag_check::Verified;
use tidemark_rows::{Absent, UNKNOWN_PORT};
use time::TimeError;

/// Maximum number of nodes that the configuration does not name; those that it names do not count.
const MAX_UNKNOWN_NODES: usize = 64;
/// Maximum number of (exporter, node, hw_id) streams.
const MAX_STREAMS: usize = 4096;

/// Returns a report's egress port and queue; the unknown port and queue 0 if it has none.
#[inline(always)]
pub(crate) fn egress_queue(report: &Report<'_>) -> (u32, u8) {
    let port = report.egress_port.unwrap_or(UNKNOWN_PORT);
    (port, report.queue_id.unwrap_or(0))
}

/// A packet whose report has been accounted for.
#[derive(Clone, Copy)]
pub(crate) struct Packet<'a> {
    /// Index of the node.
    pub node: u16,
    pub rx_ns: u64,
    /// Unwrapped, ns. A copy of a whole [`Times`] would wait for its fields, which are written one
    /// by one.
    pub ingress_ns: u64,
    pub egress_ns: u64,
    /// Which of the two times is unknown.
    pub absent: Absent,
    pub report: &'a Report<'a>,
    pub inner: &'a InnerPacket,
    pub hint: Option<FlowHint>,
}

/// A report that counts: not a duplicate, and with a plausible time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accepted {
    /// Index of the node.
    pub node: u16,
    pub times: Times,
}

/// The nodes and their sequence-number streams.
#[derive(Debug)]
pub(crate) struct Accounting {
    /// All nodes seen, in the order of their indexes.
    pub nodes: Vec<Node>,
    by_id: FxHashMap<u32, u16>,
    /// Node of the previous report. Consecutive reports mostly come from one node.
    last: u16,
    streams: StreamTable,
    /// State for nodes that other pipelines account for.
    elsewhere: Option<Elsewhere>,
    /// Result of the tag check of the current datagram.
    verified: Result<Verified, RefusalReason>,
    /// Whether the current datagram is a duplicate.
    duplicate: bool,
    /// Whether the current datagram may be a duplicate, and its node has a key.
    replayed: bool,
    unknown_nodes: usize,
    pub refusals: Refusals,
}

impl Accounting {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            nodes: Vec::new(),
            by_id: FxHashMap::default(),
            last: 0,
            streams: StreamTable::new(StreamConfig::default(), MAX_STREAMS),
            elsewhere: Elsewhere::of(config, MAX_STREAMS),
            verified: Ok(Verified::default()),
            duplicate: false,
            replayed: false,
            unknown_nodes: 0,
            refusals: Refusals::default(),
        }
    }

    #[inline]
    pub(crate) fn node(&self, node: u16) -> Option<&Node> {
        self.nodes.get(usize::from(node))
    }

    #[inline]
    pub(crate) fn node_mut(&mut self, node: u16) -> Option<&mut Node> {
        self.nodes.get_mut(usize::from(node))
    }

    /// Writes this layer's totals into `stats`.
    pub(crate) fn add_to(&self, stats: &mut Stats) {
        let streams = self.streams.total();
        stats.reports_lost = streams.lost;
        stats.reports_lost_estimated = streams.lost_estimated;
        stats.reports_lost_in_doubt = streams.lost_in_doubt;
        stats.reports_late = streams.late;
        stats.reports_unnumbered = streams.unnumbered;
        stats.reports_stale = streams.stale;
        stats.reports_implausible_sequence = streams.implausible;
        stats.stream_restarts = streams.restarts;
        stats.streams_refused = self.streams.refused;
        stats.negative_delays = self.nodes.iter().map(|n| n.time.negative_delays).sum();
    }

    /// Returns the ids of nodes whose drops no report can show, in ascending order.
    pub(crate) fn nodes_of_hops_alone(&self) -> Vec<u32> {
        let nodes = self.nodes.iter().filter(|n| n.is_hop && !n.tells_drops);
        let mut ids: Vec<u32> = nodes.map(|n| n.id).collect();
        ids.sort_unstable();
        ids
    }

    /// Returns the ids of nodes for which two clocks report at `now_rx_ns`, in ascending order.
    pub(crate) fn nodes_of_two_clocks(&self, now_rx_ns: u64) -> Vec<u32> {
        let heard = |n: &&Node| n.time.rival.is_heard(now_rx_ns);
        let mut ids: Vec<u32> = self.nodes.iter().filter(heard).map(|n| n.id).collect();
        ids.sort_unstable();
        ids
    }

    /// Returns the newest datagram of each node whose exporter states its run.
    pub(crate) fn runs(&self) -> BTreeMap<u32, Run> {
        let newest = |n: &Node| Some((n.id, n.tag.as_ref()?.newest()?));
        self.nodes.iter().filter_map(newest).collect()
    }

    /// Accounts for a report; returns `None` if the report is only counted and goes no further.
    #[inline(always)]
    pub(crate) fn accept(
        &mut self,
        config: &Config,
        received: &Received<'_>,
        stats: &mut Stats,
    ) -> Option<Accepted> {
        let report = received.report;
        if report.hop.is_some() && !self.owns(report.node_id) {
            self.of_another(config, received);
            return None;
        }
        // The node that reports a hop is responsible for it.
        let reporter_id = report.hop.map_or(report.node_id, |hop| hop.reporter_id);
        let index = self.known(config, reporter_id, received, stats)?;
        let node = self.nodes.get_mut(usize::from(index))?;
        if !node.allows(received.exporter) {
            stats.reports_refused_exporter += 1;
            self.refusals.add(received, RefusalReason::UnknownExporter);
            return None;
        }
        if report.first_in_datagram || received.tagged.is_none() {
            self.verified = node.verify(received);
        }
        let verified = match self.verified {
            Ok(verified) => verified,
            Err(reason) => {
                match reason {
                    RefusalReason::NoTag => stats.reports_refused_no_tag += 1,
                    RefusalReason::Replayed => stats.reports_refused_replayed += 1,
                    _ => stats.reports_refused_wrong_tag += 1,
                }
                self.refusals.add(received, reason);
                return None;
            }
        };
        let begins_run = verified.begins_run && report.first_in_datagram;
        if begins_run {
            // The numbers of a new run are unrelated to the earlier ones.
            self.streams.clock_restarted(reporter_id);
        }
        let has_key = node.tag.is_some();
        if received.tagged.is_some() && !has_key {
            stats.reports_tag_unchecked += 1;
        }
        let index = match report.hop {
            Some(_) => self.known(config, report.node_id, received, stats)?,
            None => index,
        };
        let node = self.nodes.get_mut(usize::from(index))?;
        if !node.configured {
            stats.reports_unconfigured_node += 1;
        }
        // A hop's clock differs from that of the node that reports it.
        let times = match begins_run && report.node_id == reporter_id {
            true => node.time.of_new_run(report, received.rx_ns),
            false => node.time.times(report, received.rx_ns),
        };
        let has_time = report.ingress_ts.is_some() || report.egress_ts.is_some();
        stats.reports_without_time += u64::from(!has_time);
        if let Ok(times) = &times {
            if times.restarted {
                // The first report of a restarted clock is no duplicate, whatever its number:
                // layers that do not see it would keep the old clock.
                self.streams.clock_restarted(report.node_id);
                (self.duplicate, self.replayed) = (false, false);
            }
            // A hop's record has the reporter's tag, but possibly not the reporter's time.
            let by_time = report.hop.is_none() && !verified.has_run;
            let tag = node.tag.as_mut().filter(|_| by_time);
            if tag.is_some_and(|tag| tag.is_replayed(report.hw_id, times)) {
                stats.reports_refused_replayed += 1;
                return None;
            }
        }
        if report.first_in_datagram {
            (self.duplicate, self.replayed) = (false, false);
            // A number with an impossible time is no evidence of anything.
            if times != Err(TimeError::Implausible) {
                let times = times.ok().filter(|_| has_time);
                let lost = self.number(received, reporter_id, has_key, verified, times);
                let node = self.nodes.get_mut(usize::from(index))?;
                node.lost_before = node.lost_before.saturating_add(lost);
            }
        }
        if self.duplicate {
            stats.reports_duplicate += 1;
            return None;
        }
        if self.replayed {
            stats.reports_refused_replayed += 1;
            return None;
        }
        match times {
            Ok(times) => Some(Accepted { node: index, times }),
            Err(TimeError::Implausible) => {
                stats.reports_implausible_time += 1;
                let has_rival = |n: &Node| n.time.rival.is_heard(received.rx_ns);
                if self.node(index).is_some_and(has_rival) {
                    self.refusals.add(received, RefusalReason::TwoClocks);
                }
                None
            }
        }
    }

    /// Returns whether a node belongs to this pipeline.
    #[inline]
    pub(crate) fn owns(&mut self, node_id: u32) -> bool {
        self.elsewhere.as_mut().is_none_or(|e| e.owns(node_id))
    }

    /// Handles the record of a hop that another pipeline takes. If the record is first in its
    /// datagram, tag and number are checked, because later records share them.
    #[cold]
    fn of_another(&mut self, config: &Config, received: &Received<'_>) {
        let report = received.report;
        let Some(reporter_id) = report.hop.map(|hop| hop.reporter_id) else {
            return;
        };
        if !report.first_in_datagram {
            return;
        }
        (self.duplicate, self.replayed) = (false, false);
        // If the node is refused, its own pipeline counts that.
        let Some(index) = self.index(config, reporter_id, received.rx_ns) else {
            return;
        };
        let at = usize::from(index);
        let Some(node) = self.nodes.get_mut(at) else {
            return;
        };
        if !node.allows(received.exporter) {
            return;
        }
        let has_key = node.tag.is_some();
        self.verified = node.verify(received);
        let Ok(verified) = self.verified else {
            return;
        };
        // A number with an impossible time is no evidence of anything.
        let elsewhere = self.elsewhere.as_mut();
        let Some(Ok(times)) = elsewhere.map(|e| e.times(config, MAX_UNKNOWN_NODES, received))
        else {
            return;
        };
        let has_time = report.ingress_ts.is_some() || report.egress_ts.is_some();
        let times = Some(times).filter(|_| has_time);
        let lost = self.number(received, reporter_id, has_key, verified, times);
        if let Some(node) = self.nodes.get_mut(at) {
            node.lost_before = node.lost_before.saturating_add(lost);
        }
    }

    /// Accounts for a datagram's number; returns the change in reports known to be lost before it.
    #[inline(always)]
    fn number(
        &mut self,
        received: &Received<'_>,
        reporter_id: u32,
        has_key: bool,
        verified: Verified,
        times: Option<Times>,
    ) -> i32 {
        let report = received.report;
        let key = StreamKey {
            // All holders of the key count as one exporter, whatever their address, so that a
            // recording is recognised if it is sent again from another address.
            exporter: match has_key {
                true => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
                false => *received.exporter,
            },
            node_id: reporter_id,
            hw_id: report.hw_id,
            sequence_bits: report.sequence_bits,
        };
        let time_ns = times.map(|t| t.egress_ns.max(t.ingress_ns));
        // For a report of hops, another pipeline may account for the losses.
        let is_counted = report.hop.is_none() || self.owns(reporter_id);
        let streams = match &mut self.elsewhere {
            Some(elsewhere) if !is_counted => &mut elsewhere.streams,
            _ => &mut self.streams,
        };
        let outcome = streams.observe(key, report.sequence, time_ns);
        // In a run, the tag's own number has already detected duplicates.
        self.duplicate = outcome == Some(Outcome::Duplicate) && !verified.has_run;
        self.replayed = has_key && outcome == Some(Outcome::Stale) && !verified.has_run;
        if is_counted { lost_by(outcome) } else { 0 }
    }

    /// Returns the index of a node that may report; counts the refusal if the node may not.
    #[inline(always)]
    fn known(
        &mut self,
        config: &Config,
        node_id: u32,
        received: &Received<'_>,
        stats: &mut Stats,
    ) -> Option<u16> {
        let index = self.index(config, node_id, received.rx_ns);
        if index.is_none() {
            stats.reports_unconfigured_node += 1;
            stats.nodes_refused += 1;
            self.refusals.add(received, RefusalReason::UnknownNode);
        }
        index
    }

    /// Resets a node's reception times after its clock restarted.
    pub(crate) fn restart(&mut self, node: u16, rx_ns: u64) {
        if let Some(node) = self.node_mut(node) {
            node.first_rx_ns = rx_ns;
            node.last_rx_ns = rx_ns;
            node.idle_mark_ns = 0;
        }
    }

    #[inline]
    fn index(&mut self, config: &Config, node_id: u32, rx_ns: u64) -> Option<u16> {
        let last = self.nodes.get(usize::from(self.last));
        if last.is_some_and(|n| n.id == node_id) {
            return Some(self.last);
        }
        self.last = self.find(config, node_id, rx_ns)?;
        Some(self.last)
    }

    fn find(&mut self, config: &Config, node_id: u32, rx_ns: u64) -> Option<u16> {
        if let Some(&i) = self.by_id.get(&node_id) {
            return Some(i);
        }
        if !config.nodes.contains_key(&node_id) {
            let refuse = config.unknown_nodes == UnknownNodes::Refuse;
            if refuse || self.unknown_nodes >= MAX_UNKNOWN_NODES {
                return None;
            }
            self.unknown_nodes += 1;
        }
        let i = u16::try_from(self.nodes.len()).ok()?;
        self.nodes.push(Node::new(node_id, config, rx_ns));
        self.by_id.insert(node_id, i);
        Some(i)
    }
}

impl Node {
    /// Whether a report is about one packet at a queue: neither a summary of losses elsewhere nor a
    /// drop for another reason.
    #[inline(always)]
    pub(crate) fn is_of_queue(&mut self, packet: &Packet<'_>, stats: &mut Stats) -> bool {
        self.last_rx_ns = self.last_rx_ns.max(packet.rx_ns);
        let report = packet.report;
        self.is_hop |= report.hop.is_some();
        // A packet that was dropped reaches no sink with its metadata.
        self.tells_drops |= report.hop.is_none() || report.dropped;
        if let Some(drops) = report.summary_drops {
            stats.drop_summaries += 1;
            stats.summarised_drops += u64::from(drops);
            return false;
        }
        // Drops without a reason count as queue losses: v1 and v0.5 programs report no other drops.
        let table = self.config.drop_codes;
        if report.dropped
            && report
                .drop_reason
                .is_some_and(|code| !table.is_queue_loss(code))
        {
            stats.drops_not_of_queue += 1;
            return false;
        }
        true
    }
}

/// Returns the change in missing reports that a datagram reveals.
#[inline]
fn lost_by(outcome: Option<Outcome>) -> i32 {
    match outcome {
        Some(Outcome::Gap { lost }) => i32::try_from(lost).unwrap_or(i32::MAX),
        // Late reports were counted as lost before, except the few from before the first report.
        Some(Outcome::Late) => -1,
        Some(Outcome::Unnumbered { not_lost } | Outcome::Doubtful { not_lost }) => {
            i32::try_from(not_lost).map_or(i32::MIN, |n| -n)
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
