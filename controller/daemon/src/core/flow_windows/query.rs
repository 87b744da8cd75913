// SPDX-License-Identifier: Apache-2.0
//! The sum of all flows' windows over time, which is the W(t) that the papers compare with Q(t) +
//! BDP, and the windows of single flows.
//!
//! W(t) is the number of packets sent whose acknowledgement has not arrived yet (UTB §3). Packets
//! that were lost or selectively acknowledged are no longer in flight. The lab's figures compute
//! W(t) in the same way (`figures/series.py`), and both are compared with Q(t) + BDP on one
//! recorded run (`common/test-support/recorded`).

use super::{FlowWindows, Row};
use std::collections::BTreeMap;

/// A flow without a sample for longer than this is not in the sum.
const SILENT_NS: u64 = 2_000_000_000;

/// One step of the link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Step {
    /// Start, ns on the switch's clock.
    pub start_ns: u64,
    /// Sum of the last windows of the probed flows, segments; `None` if there are none.
    pub cwnd_sum_pkts: Option<f64>,
    /// W(t): the payload in flight of these flows, with the headers that packets have here, bytes.
    pub in_flight_sum_bytes: Option<f64>,
    /// Number of flows in these sums.
    pub probed_flows: u32,
    /// Number of flows that sent data recently, probed or not.
    pub data_flows: u32,
}

/// One flow over the steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flow {
    /// Number that the collector gave the flow.
    pub flow: u64,
    /// Last window in each step, segments; `None` without a sample.
    pub cwnd_pkts: Vec<Option<u32>>,
    /// Payload in flight, with the headers that packets have here, bytes.
    pub in_flight_bytes: Vec<Option<f64>>,
    /// Packets of the flow dropped here.
    pub drops: Vec<u32>,
    /// Packets of the flow marked CE here.
    pub ce_marked: Vec<u32>,
}

/// Answer to a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Length of a step, ns.
    pub step_ns: u64,
    /// The link over time.
    pub steps: Vec<Step>,
    /// The flows that were asked for, in that order.
    pub flows: Vec<Flow>,
}

/// Last known state of a flow.
#[derive(Clone, Copy, Default)]
struct Last {
    probed: Option<Probed>,
    data_ns: Option<u64>,
}

/// The last sample of a sender.
#[derive(Clone, Copy)]
struct Probed {
    ns: u64,
    cwnd_pkts: u32,
    /// Payload in flight, bytes.
    in_flight_bytes: f64,
    /// Time by which all of it is acknowledged, or lost.
    answered_ns: u64,
}

/// Payload of a full segment of each flow, bytes.
struct Segments(BTreeMap<u64, f64>);

impl Segments {
    fn of<'a>(rows: impl Iterator<Item = &'a Row>) -> Self {
        let mut largest: BTreeMap<u64, f64> = BTreeMap::new();
        for r in rows.filter(|r| r.packets > 0 && r.payload_bytes > 0) {
            // Largest mean of a step: the last segments of messages are shorter, and most steps of
            // a flow that fills its window have none.
            let mean = f64::from(r.payload_bytes) / f64::from(r.packets);
            let known = largest.entry(r.flow).or_default();
            *known = known.max(mean);
        }
        Self(largest)
    }

    /// Returns the payload that the flow has in flight, bytes. The sender tells the unacknowledged
    /// bytes, which include lost and selectively acknowledged segments. While it recovers from a
    /// loss, its window is what is in flight (PRR, RFC 6937); otherwise the window is a bound. So
    /// the smaller of the two is in flight.
    fn in_flight_bytes(&self, flow: u64, cwnd_pkts: u32, unacked_bytes: u32) -> f64 {
        let unacked = f64::from(unacked_bytes);
        match self.0.get(&flow) {
            Some(segment) => unacked.min(f64::from(cwnd_pkts) * segment),
            None => unacked,
        }
    }
}

impl FlowWindows {
    /// Returns the complete steps that start in `[from_ns, to_ns)`, merged to at most `max_points`,
    /// with the columns of some flows. `overhead_bytes`: size of a packet in the queue beyond its
    /// IP packet.
    pub fn query(
        &self,
        from_ns: u64,
        to_ns: u64,
        max_points: usize,
        flows: &[u64],
        overhead_bytes: u32,
    ) -> Answer {
        let index = |ns: u64| self.rows.partition_point(|r| r.start_ns < ns);
        // Samples shortly before the span still count in its sums.
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
        let segments = Segments::of(self.rows.range(before..end.max(before)));
        let mut lasts: BTreeMap<u64, Last> = BTreeMap::new();
        for row in self.rows.range(before..start.max(before)) {
            see(&mut lasts, row, &segments, self.step_ns);
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
                see(&mut lasts, row, &segments, self.step_ns);
                if let Some(c) = columns.iter_mut().find(|c| c.flow == row.flow) {
                    c.take(k, row, &segments, queued);
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
    fn take(&mut self, step: usize, row: &Row, segments: &Segments, queued: f64) {
        if let Some(cwnd) = row.cwnd_pkts {
            let in_flight = segments.in_flight_bytes(row.flow, cwnd, row.unacked_bytes);
            self.cwnd_pkts[step] = Some(cwnd);
            self.in_flight_bytes[step] = Some(in_flight * queued);
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

fn see(lasts: &mut BTreeMap<u64, Last>, row: &Row, segments: &Segments, step_ns: u64) {
    let last = lasts.entry(row.flow).or_default();
    if let Some(cwnd_pkts) = row.cwnd_pkts {
        last.probed = Some(Probed {
            ns: row.start_ns,
            cwnd_pkts,
            in_flight_bytes: segments.in_flight_bytes(row.flow, cwnd_pkts, row.unacked_bytes),
            answered_ns: row.start_ns + step_ns + u64::from(row.srtt_us) * 1_000,
        });
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
        if let Some(p) = last.probed
            && heard(p.ns)
        {
            step.probed_flows += 1;
            *step.cwnd_sum_pkts.get_or_insert(0.0) += f64::from(p.cwnd_pkts);
            // Acknowledgements arrive within a round trip: a flow that got its last one has nothing
            // in flight, though it counts as probed for a while.
            let in_flight = if p.answered_ns >= end_ns {
                p.in_flight_bytes * queued
            } else {
                0.0
            };
            *step.in_flight_sum_bytes.get_or_insert(0.0) += in_flight;
        }
        step.data_flows += u32::from(last.data_ns.is_some_and(heard));
    }
    step
}
