// SPDX-License-Identifier: Apache-2.0
//! The records of one link within one window, grouped by flow.

mod gather;
mod life;
mod narrow;

use crate::gaps;
use crate::signals::Signal;
use crate::types::{LinkId, LinkInfo};
use life::Life;
use std::ops::Range;
use tidemark_proto::telemetry::{Drop, FlowEvent, FlowInfo, FlowInterval, LinkInterval};

/// A flow's records within the window, and the earlier history that its class may depend on.
pub(crate) struct FlowWindow<'a> {
    pub id: u64,
    pub info: Option<&'a FlowInfo>,
    pub life: Life,
    /// Records from the start of the history to the end of the window.
    pub history: Vec<&'a FlowInterval>,
    /// Index into `history` of the first record within the window.
    pub window_at: usize,
    /// Times of the flow's drops here, including the history.
    pub drops_ns: Vec<u64>,
    /// Times of the flow's drops and CE marks here, including the history.
    pub signals_ns: Vec<u64>,
    pub events: Vec<&'a FlowEvent>,
    /// Mean number of packets that each reported packet represents (drops: one).
    pub sampling: f64,
}

#[cfg(test)]
impl<'a> FlowWindow<'a> {
    /// Creates a flow of which only these records are known.
    pub fn of_records(history: Vec<&'a FlowInterval>) -> Self {
        Self {
            id: 1,
            info: None,
            life: Life::of(&history, 1.0),
            history,
            window_at: 0,
            drops_ns: Vec::new(),
            signals_ns: Vec::new(),
            events: Vec::new(),
            sampling: 1.0,
        }
    }
}

impl<'a> FlowWindow<'a> {
    /// Returns the records within the window.
    pub fn window(&self) -> &[&'a FlowInterval] {
        self.history.get(self.window_at..).unwrap_or_default()
    }

    pub fn is_tcp(&self) -> bool {
        self.info
            .and_then(|i| i.key.as_ref())
            .is_none_or(|k| k.protocol == 6)
    }

    /// Whether the sender's window was seen in the history.
    pub fn probed(&self) -> bool {
        self.life.probed
    }

    /// Returns the largest segment payload; 1448 if unknown.
    pub fn mss_bytes(&self) -> u32 {
        self.info
            .map(|i| i.mss_bytes)
            .filter(|&m| m > 0)
            .unwrap_or(1448)
    }
}

/// A link's records within one window.
pub(crate) struct LinkWindow<'a> {
    pub id: LinkId,
    pub info: LinkInfo,
    pub from_ns: u64,
    pub to_ns: u64,
    pub intervals: Vec<&'a LinkInterval>,
    pub flows: Vec<FlowWindow<'a>>,
    /// Drops within the window.
    pub drops: Vec<&'a Drop>,
    /// CE marks within the window, by flow record.
    pub marks: Vec<Signal>,
    /// Mean number of packets that each reported packet represents, over the intervals.
    pub sampling: f64,
    /// Whether the capacity is not configured but measured while packets waited.
    pub capacity_measured: bool,
    /// Other queues that took a part of the port's capacity within the window. The capacity is
    /// then the rate at which this queue was served.
    pub shared_with: Vec<u32>,
    /// Whether flows that sent within the window were evicted for lack of memory.
    pub flows_evicted: bool,
    /// Whether drops are unknown, because the node's reports cannot show any.
    pub drops_untold: bool,
    /// Whether two clocks report as this node.
    pub two_clocks: bool,
    /// Times within the window without records, ns.
    pub gaps: Vec<Range<u64>>,
    /// Whether no port of the node reported a packet within the window: the link may have been
    /// idle or not.
    pub silent: bool,
}

impl<'a> LinkWindow<'a> {
    /// Returns the drops and CE marks within the window, ordered by time.
    pub fn signals(&self) -> Vec<Signal> {
        let drops = self.drops.iter().map(|d| Signal::of_drop(d));
        let mut all: Vec<Signal> = drops.chain(self.marks.iter().copied()).collect();
        all.sort_by_key(|s| s.time_ns);
        all
    }

    /// Returns the length of the window, s.
    pub fn length_s(&self) -> f64 {
        self.to_ns.saturating_sub(self.from_ns) as f64 / 1e9
    }

    /// Returns the time within the window without records, s.
    pub fn unrecorded_s(&self) -> f64 {
        gaps::length_ns(&self.gaps) as f64 / 1e9
    }

    /// Returns the time within the window that records cover, s.
    pub fn recorded_s(&self) -> f64 {
        self.length_s() - self.unrecorded_s()
    }

    /// Returns the length of an interval, ns; 1 ms without intervals.
    pub fn interval_ns(&self) -> u64 {
        self.intervals
            .first()
            .map_or(1_000_000, |r| r.duration_ns.max(1))
    }

    /// Returns the capacity in bytes on the wire per second; `None` if unknown.
    pub fn capacity_bytes_per_s(&self) -> Option<f64> {
        (self.info.capacity_bps > 0).then(|| self.info.capacity_bps as f64 / 8.0)
    }
}
