// SPDX-License-Identifier: Apache-2.0
//! The records of one link within one window, put in order.

mod gather;
mod life;
mod narrow;

use crate::gaps;
use crate::signals::Signal;
use crate::types::{LinkId, LinkInfo};
use life::Life;
use std::ops::Range;
use tidemark_proto::telemetry::{Drop, FlowEvent, FlowInfo, FlowInterval, LinkInterval};

/// One flow: its records within the window and the history before it that its
/// class may rest on.
pub(crate) struct FlowWindow<'a> {
    pub id: u64,
    pub info: Option<&'a FlowInfo>,
    pub life: Life,
    /// From the start of the history to the end of the window.
    pub history: Vec<&'a FlowInterval>,
    /// Index into `history` of the first record within the window.
    pub window_at: usize,
    /// Times of its drops here, history included.
    pub drops_ns: Vec<u64>,
    /// Times of its drops and CE marks here, history included.
    pub signals_ns: Vec<u64>,
    pub events: Vec<&'a FlowEvent>,
    /// Packets that every reported one stands for (drops: one).
    pub sampling: f64,
}

#[cfg(test)]
impl<'a> FlowWindow<'a> {
    /// A flow of which nothing but these records is known.
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
    /// The records within the window.
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

    /// Largest segment payload; 1448 when no data packet was described.
    pub fn mss_bytes(&self) -> u32 {
        self.info
            .map(|i| i.mss_bytes)
            .filter(|&m| m > 0)
            .unwrap_or(1448)
    }
}

/// A link's window.
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
    /// Packets that every reported one stands for, mean over the intervals.
    pub sampling: f64,
    /// The capacity is not configured but measured while packets waited.
    pub capacity_measured: bool,
    /// Other queues of its port that took a part of the port's capacity within it. The
    /// capacity is then the rate at which this queue was served.
    pub shared_with: Vec<u32>,
    /// Memory had no room for all flows that sent within it.
    pub flows_evicted: bool,
    /// No report of its collector can tell of a drop.
    pub drops_untold: bool,
    /// Two clocks speak as its node.
    pub two_clocks: bool,
    /// Times within it of which no record came, ns.
    pub gaps: Vec<Range<u64>>,
    /// No port of its node reported a packet within it: whether the link was idle is not
    /// known.
    pub silent: bool,
}

impl<'a> LinkWindow<'a> {
    /// Drops and CE marks within the window, in order.
    pub fn signals(&self) -> Vec<Signal> {
        let drops = self.drops.iter().map(|d| Signal::of_drop(d));
        let mut all: Vec<Signal> = drops.chain(self.marks.iter().copied()).collect();
        all.sort_by_key(|s| s.time_ns);
        all
    }

    /// Seconds from its start to its end.
    pub fn length_s(&self) -> f64 {
        self.to_ns.saturating_sub(self.from_ns) as f64 / 1e9
    }

    /// Seconds within it of which no record came.
    pub fn unrecorded_s(&self) -> f64 {
        gaps::length_ns(&self.gaps) as f64 / 1e9
    }

    /// Seconds of which there are records.
    pub fn recorded_s(&self) -> f64 {
        self.length_s() - self.unrecorded_s()
    }

    /// Length of an interval, ns; 1 ms when there is none.
    pub fn interval_ns(&self) -> u64 {
        self.intervals
            .first()
            .map_or(1_000_000, |r| r.duration_ns.max(1))
    }

    /// Capacity in bytes on the wire per second; `None` when not configured.
    pub fn capacity_bytes_per_s(&self) -> Option<f64> {
        (self.info.capacity_bps > 0).then(|| self.info.capacity_bps as f64 / 8.0)
    }
}
