// SPDX-License-Identifier: Apache-2.0
//! The windows of the flows of a link over time, in steps of at least 100 ms and
//! within a bound of length, and their sum: the W(t) that the papers hold against
//! Q(t) + BDP.

use super::share::Share;
use std::collections::{BTreeMap, VecDeque};
use tidemark_proto::telemetry::FlowInterval;

/// Shortest step.
const STEP_NS: u64 = 100_000_000;
/// Rows of a link, one per flow and step: 6 MB. Twelve flows for sixteen minutes.
const MOST_ROWS: usize = 120_000;
/// However many links there are.
const LEAST_ROWS: usize = 1_200;
/// A flow that says nothing for longer is not in the sum.
const SILENT_NS: u64 = 2_000_000_000;

/// One flow in one step.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    start_ns: u64,
    flow: u64,
    /// Segments; `None` without a sample of the sender.
    cwnd_pkts: Option<u32>,
    in_flight_bytes: u32,
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
            self.in_flight_bytes = p.inflight_last_bytes;
        }
    }
}

/// One step of the link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Step {
    pub start_ns: u64,
    pub cwnd_sum_pkts: Option<f64>,
    pub in_flight_sum_bytes: Option<f64>,
    pub probed_flows: u32,
    pub data_flows: u32,
}

/// One flow over the steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flow {
    pub flow: u64,
    pub cwnd_pkts: Vec<Option<u32>>,
    pub in_flight_bytes: Vec<Option<f64>>,
    pub drops: Vec<u32>,
    pub ce_marked: Vec<u32>,
}

/// What was asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    pub step_ns: u64,
    pub steps: Vec<Step>,
    pub flows: Vec<Flow>,
}

/// The last that is known of a flow.
#[derive(Clone, Copy, Default)]
struct Last {
    probed: Option<(u64, u32, u32)>,
    data_ns: Option<u64>,
}

/// The windows of the flows of one link.
#[derive(Debug)]
pub struct FlowWindows {
    step_ns: u64,
    /// Number of the step being filled, and its flows.
    open: (u64, BTreeMap<u64, Row>),
    rows: VecDeque<Row>,
    /// Where there are few links.
    whole_rows: usize,
    most_rows: usize,
}

impl FlowWindows {
    /// Of intervals of `interval_ms`.
    pub fn new(interval_ms: u32) -> Self {
        Self::keeping(interval_ms, 1)
    }

    /// As [`FlowWindows::new`], with so many times as many rows.
    pub fn keeping(interval_ms: u32, times: usize) -> Self {
        let interval_ns = u64::from(interval_ms.max(1)) * 1_000_000;
        Self {
            // Whole intervals.
            step_ns: STEP_NS.div_ceil(interval_ns) * interval_ns,
            open: (0, BTreeMap::new()),
            rows: VecDeque::new(),
            whole_rows: times * MOST_ROWS,
            most_rows: times * MOST_ROWS,
        }
    }

    /// Adds an interval of a flow. One that comes late goes into the step being
    /// filled.
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

    /// Keeps no more than its share.
    pub fn bound(&mut self, share: Share) {
        self.most_rows = share.of(self.whole_rows, LEAST_ROWS);
        let extra = self.rows.len().saturating_sub(self.most_rows);
        if extra > 0 {
            self.rows.drain(..extra);
            self.rows.shrink_to_fit();
        }
    }

    /// Complete steps that start in `[from_ns, to_ns)`, merged to at most
    /// `max_points`, with the columns of some flows. `overhead_bytes`: of a packet in
    /// the queue beyond its IP packet.
    pub fn query(
        &self,
        from_ns: u64,
        to_ns: u64,
        max_points: usize,
        flows: &[u64],
        overhead_bytes: u32,
    ) -> Answer {
        let index = |ns: u64| self.rows.partition_point(|r| r.start_ns < ns);
        // What was said shortly before the span still counts in its sums.
        let before = index(from_ns.saturating_sub(SILENT_NS));
        let (start, end) = (index(from_ns), index(to_ns));
        let span = || self.rows.range(start..end.max(start));
        let Some((first, last)) = span().next().zip(span().next_back()) else {
            return Answer {
                step_ns: self.step_ns,
                ..Answer::default()
            };
        };
        let all = (last.start_ns - first.start_ns) / self.step_ns + 1;
        let every = all.div_ceil(max_points.max(1) as u64).max(1);
        let step_ns = self.step_ns * every;
        let steps = all.div_ceil(every) as usize;
        let queued = queued_per_payload(span(), overhead_bytes);
        let mut lasts: BTreeMap<u64, Last> = BTreeMap::new();
        for row in self.rows.range(before..start.max(before)) {
            see(&mut lasts, row);
        }
        let mut columns: Vec<Flow> = flows
            .iter()
            .map(|&flow| Flow {
                flow,
                cwnd_pkts: vec![None; steps],
                in_flight_bytes: vec![None; steps],
                drops: vec![0; steps],
                ce_marked: vec![0; steps],
            })
            .collect();
        let mut rows = span().peekable();
        let mut out = Vec::with_capacity(steps);
        for k in 0..steps {
            let start_ns = first.start_ns + k as u64 * step_ns;
            let end_ns = start_ns + step_ns;
            while let Some(row) = rows.next_if(|r| r.start_ns < end_ns) {
                see(&mut lasts, row);
                if let Some(c) = columns.iter_mut().find(|c| c.flow == row.flow) {
                    c.take(k, row, queued);
                }
            }
            out.push(sum(start_ns, end_ns, &lasts, queued));
        }
        Answer {
            step_ns,
            steps: out,
            flows: columns,
        }
    }
}

impl Flow {
    fn take(&mut self, step: usize, row: &Row, queued: f64) {
        if let Some(cwnd) = row.cwnd_pkts {
            self.cwnd_pkts[step] = Some(cwnd);
            self.in_flight_bytes[step] = Some(f64::from(row.in_flight_bytes) * queued);
        }
        self.drops[step] += row.drops;
        self.ce_marked[step] += row.ce_marked;
    }
}

/// Bytes in the queue per byte of payload.
fn queued_per_payload<'a>(rows: impl Iterator<Item = &'a Row>, overhead_bytes: u32) -> f64 {
    let (mut queued, mut payload) = (0.0, 0.0);
    for r in rows.filter(|r| r.payload_bytes > 0) {
        queued += f64::from(r.ip_bytes) + f64::from(r.packets) * f64::from(overhead_bytes);
        payload += f64::from(r.payload_bytes);
    }
    if payload > 0.0 { queued / payload } else { 1.0 }
}

fn see(lasts: &mut BTreeMap<u64, Last>, row: &Row) {
    let last = lasts.entry(row.flow).or_default();
    if let Some(cwnd) = row.cwnd_pkts {
        last.probed = Some((row.start_ns, cwnd, row.in_flight_bytes));
    }
    if row.payload_bytes > 0 {
        last.data_ns = Some(row.start_ns);
    }
}

fn sum(start_ns: u64, end_ns: u64, lasts: &BTreeMap<u64, Last>, queued: f64) -> Step {
    let heard = |ns: u64| ns.saturating_add(SILENT_NS) >= end_ns;
    let mut step = Step {
        start_ns,
        ..Step::default()
    };
    for last in lasts.values() {
        if let Some((ns, cwnd, in_flight)) = last.probed
            && heard(ns)
        {
            step.probed_flows += 1;
            *step.cwnd_sum_pkts.get_or_insert(0.0) += f64::from(cwnd);
            *step.in_flight_sum_bytes.get_or_insert(0.0) += f64::from(in_flight) * queued;
        }
        step.data_flows += u32::from(last.data_ns.is_some_and(heard));
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_proto::telemetry::ProbeInterval;

    fn interval(ms: u64, flow_id: u64, cwnd: Option<u32>) -> FlowInterval {
        FlowInterval {
            flow_id,
            start_ns: ms * 1_000_000,
            duration_ns: 10_000_000,
            packets: 10,
            ip_bytes: 15_000,
            payload_bytes: 14_000,
            drops: u32::from(ms.is_multiple_of(500)),
            probe: cwnd.map(|cwnd_last| ProbeInterval {
                samples: 1,
                cwnd_last,
                inflight_last_bytes: cwnd_last * 1400,
                ..ProbeInterval::default()
            }),
            ..FlowInterval::default()
        }
    }

    fn filled() -> FlowWindows {
        let mut w = FlowWindows::new(10);
        for ms in (0..3000).step_by(10) {
            w.push(&interval(ms, 1, Some(10 + (ms / 100) as u32)));
            w.push(&interval(ms, 2, (ms < 500).then_some(7)));
            w.push(&interval(ms, 3, None));
        }
        w
    }

    #[test]
    fn a_step_has_the_last_window_and_all_drops() {
        let a = filled().query(0, 1_000_000_000, 100, &[1, 9], 0);
        assert_eq!((a.step_ns, a.steps.len()), (STEP_NS, 10));
        assert_eq!(a.flows[0].cwnd_pkts[3], Some(13));
        assert_eq!(a.flows[0].drops, [1, 0, 0, 0, 0, 1, 0, 0, 0, 0]);
        // Unknown flows have empty columns of the same length.
        assert_eq!(a.flows[1].cwnd_pkts, vec![None; 10]);
        // 15000 bytes in the queue carry 14000 of payload.
        let in_flight = a.flows[0].in_flight_bytes[0].unwrap();
        assert!((in_flight - 15_000.0).abs() < 1e-6, "{in_flight}");
    }

    #[test]
    fn the_sum_forgets_who_is_silent() {
        let a = filled().query(0, 3_000_000_000, 100, &[], 0);
        assert_eq!(a.steps[0].cwnd_sum_pkts, Some(17.0));
        // Flow 2 was sampled until 0.5 s; it counts until 2.4 s.
        assert_eq!((a.steps[20].probed_flows, a.steps[20].data_flows), (2, 3));
        assert_eq!(a.steps[26].probed_flows, 1);
        assert_eq!(a.steps[26].cwnd_sum_pkts, Some(36.0));
        // Also where the span begins later than that.
        let later = filled().query(2_000_000_000, 2_100_000_000, 100, &[], 0);
        assert_eq!(later.steps[0].probed_flows, 2);
    }

    #[test]
    fn merged_steps_end_with_the_last() {
        let a = filled().query(0, 2_000_000_000, 5, &[1], 0);
        assert_eq!((a.step_ns, a.steps.len()), (4 * STEP_NS, 5));
        assert_eq!(a.flows[0].cwnd_pkts[0], Some(13));
        assert_eq!(a.flows[0].drops.iter().sum::<u32>(), 4);
    }

    #[test]
    fn memory_is_bounded() {
        let mut w = FlowWindows::new(10);
        for ms in (0..20_000).step_by(100) {
            for flow in 0..1000 {
                w.push(&interval(ms, flow, Some(1)));
            }
        }
        assert_eq!(w.rows.len(), MOST_ROWS);
        let newest = w.rows.back().map(|r| r.start_ns);
        w.bound(Share::among(1_000_000));
        assert_eq!(w.rows.len(), LEAST_ROWS);
        assert_eq!(w.rows.back().map(|r| r.start_ns), newest);
        assert!(w.query(0, 1_000_000_000, 10, &[], 0).steps.is_empty());
    }
}
