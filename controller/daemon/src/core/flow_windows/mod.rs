// SPDX-License-Identifier: Apache-2.0
//! The congestion windows of a link's flows over time, in steps of at least 100 ms, with a maximum
//! number of rows.

mod query;

pub use query::{Answer, Flow, Step};

use super::share::Share;
use std::collections::{BTreeMap, VecDeque};
use tidemark_proto::telemetry::FlowInterval;

const STEP_NS: u64 = 100_000_000;
/// Maximum rows of a link, one per flow and step: 7 MB. Twelve flows for sixteen minutes.
const MOST_ROWS: usize = 120_000;
/// Minimum rows of a link, however many links there are.
const LEAST_ROWS: usize = 1_200;

/// Values kept of one flow in one step.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    start_ns: u64,
    flow: u64,
    /// Congestion window, segments; `None` without a sample of the sender.
    cwnd_pkts: Option<u32>,
    /// Payload sent and not acknowledged, bytes.
    unacked_bytes: u32,
    srtt_us: u32,
    packets: u32,
    ip_bytes: u32,
    payload_bytes: u32,
    drops: u32,
    ce_marked: u32,
}

impl Row {
    fn add(&mut self, i: &FlowInterval) {
        let sum = |a: u32, b: u64| u32::try_from(u64::from(a) + b).unwrap_or(u32::MAX);
        self.packets = sum(self.packets, i.packets.into());
        self.ip_bytes = sum(self.ip_bytes, i.ip_bytes);
        self.payload_bytes = sum(self.payload_bytes, i.payload_bytes);
        self.drops = sum(self.drops, i.drops.into());
        self.ce_marked = sum(self.ce_marked, i.ce_marked.into());
        if let Some(p) = &i.probe {
            self.cwnd_pkts = Some(p.cwnd_last);
            self.unacked_bytes = p.inflight_last_bytes;
            self.srtt_us = p.srtt_last_us;
        }
    }
}

/// The congestion windows of the flows of one link.
#[derive(Debug)]
pub struct FlowWindows {
    step_ns: u64,
    /// Number of the step being filled, and its flows.
    open: (u64, BTreeMap<u64, Row>),
    rows: VecDeque<Row>,
    /// Maximum rows if there are few links.
    whole_rows: usize,
    most_rows: usize,
}

impl FlowWindows {
    /// Memory used by all rows, bytes.
    pub fn memory_bytes(&self) -> usize {
        (self.rows.capacity() + self.open.1.len()) * size_of::<Row>()
    }

    /// Creates windows for intervals of `interval_ms`, with `times` the rows of a live collector.
    pub fn keeping(interval_ms: u32, times: usize) -> Self {
        let interval_ns = u64::from(interval_ms.max(1)) * 1_000_000;
        Self {
            // A multiple of the interval.
            step_ns: STEP_NS.div_ceil(interval_ns) * interval_ns,
            open: (0, BTreeMap::new()),
            rows: VecDeque::new(),
            whole_rows: times * MOST_ROWS,
            most_rows: times * MOST_ROWS,
        }
    }

    /// Adds an interval of a flow. A late interval goes into the current step.
    pub fn push(&mut self, i: &FlowInterval) {
        let number = i.start_ns / self.step_ns;
        if number > self.open.0 {
            self.close();
            self.open.0 = number;
        }
        self.open.1.entry(i.flow_id).or_default().add(i);
    }

    fn close(&mut self) {
        let (number, flows) = &mut self.open;
        let start_ns = *number * self.step_ns;
        for (flow, row) in std::mem::take(flows) {
            self.rows.push_back(Row {
                start_ns,
                flow,
                ..row
            });
        }
        let extra = self.rows.len().saturating_sub(self.most_rows);
        self.rows.drain(..extra);
    }

    /// Keeps no more rows than the link's share.
    pub fn bound(&mut self, share: Share) {
        self.most_rows = share.of(self.whole_rows, LEAST_ROWS);
        let extra = self.rows.len().saturating_sub(self.most_rows);
        if extra > 0 {
            self.rows.drain(..extra);
            self.rows.shrink_to_fit();
        }
    }
}

#[cfg(test)]
mod tests;
