// SPDX-License-Identifier: Apache-2.0
//! One step of a series: the sum of intervals, or of steps.

use tidemark_proto::histogram::Counts;
use tidemark_proto::telemetry::LinkInterval;

/// One step of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Start, ns on the switch's clock.
    pub start_ns: u64,
    /// Sum of the intervals in it, ns.
    pub duration_ns: u64,
    /// Median occupancy met by arrivals, bytes.
    pub occupancy_p50_bytes: f64,
    /// 99th percentile of the occupancy, bytes.
    pub occupancy_p99_bytes: f64,
    /// Largest occupancy, bytes.
    pub occupancy_max_bytes: u64,
    /// Median queueing delay, ns.
    pub delay_p50_ns: f64,
    /// 99th percentile of the queueing delay, ns.
    pub delay_p99_ns: f64,
    /// Longest queueing delay, ns.
    pub delay_max_ns: u64,
    /// Bytes on the wire of the packets that left.
    pub wire_bytes: u64,
    /// Packets that left.
    pub packets: u64,
    /// Packets that left or were dropped.
    pub arrivals: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked CE, of those reported.
    pub ce_marked: u64,
    /// The limit last reported, bytes; 0 when unlimited or not reported.
    pub limit_bytes: u64,
    /// Reports lost on their way.
    pub reports_lost: u64,
}

impl Point {
    /// Creates a step of which nothing is known.
    pub fn at(start_ns: u64) -> Self {
        Self {
            start_ns,
            ..Self::default()
        }
    }

    /// Returns the step without the `silent_ns` of its `step_ns` when the switch was silent; `None`
    /// if it was silent all the time.
    pub fn heard(&self, silent_ns: u64, step_ns: u64) -> Option<Self> {
        if silent_ns == 0 {
            return Some(*self);
        }
        let heard = 1.0 - silent_ns as f64 / step_ns.max(1) as f64;
        let duration_ns = (self.duration_ns as f64 * heard).round() as u64;
        (heard > 0.0).then_some(Self {
            duration_ns,
            ..*self
        })
    }

    /// Returns bytes that left over what the capacity allows; `None` if the capacity is 0.
    pub fn utilisation(&self, capacity_bps: u64) -> Option<f64> {
        let possible_bytes = capacity_bps as f64 / 8.0 * self.duration_ns as f64 / 1e9;
        (possible_bytes > 0.0).then(|| self.wire_bytes as f64 / possible_bytes)
    }
}

/// Sums intervals into steps of equal length.
#[derive(Debug, Default)]
pub(super) struct Step {
    pub(super) point: Point,
    occupancy: Counts,
    delay: Counts,
}

impl Step {
    pub(super) fn add(&mut self, i: &LinkInterval) {
        let p = &mut self.point;
        p.duration_ns += i.duration_ns;
        // A sampled report stands for several packets, a drop only for itself.
        let scale = 1u64 << i.sampling_shift.min(32);
        p.wire_bytes += i.wire_bytes.saturating_mul(scale);
        p.packets += u64::from(i.packets).saturating_mul(scale);
        let left = u64::from(i.arrivals.saturating_sub(i.drops));
        p.arrivals += left.saturating_mul(scale) + u64::from(i.drops);
        p.drops += u64::from(i.drops);
        p.ce_marked += u64::from(i.ce_marked);
        p.reports_lost += u64::from(i.reports_lost);
        p.occupancy_max_bytes = p.occupancy_max_bytes.max(i.occupancy_max_bytes);
        p.delay_max_ns = p.delay_max_ns.max(i.delay_max_ns);
        if i.limit_bytes != 0 {
            p.limit_bytes = i.limit_bytes;
        }
        if let Some(h) = &i.occupancy_bytes {
            self.occupancy.merge(h);
        }
        if let Some(h) = &i.delay_ns {
            self.delay.merge(h);
        }
    }

    pub(super) fn take(&mut self) -> Point {
        let mut p = std::mem::take(&mut self.point);
        let top = p.occupancy_max_bytes as f64;
        p.occupancy_p50_bytes = self.occupancy.quantile(0.5).unwrap_or(0.0).min(top);
        p.occupancy_p99_bytes = self.occupancy.quantile(0.99).unwrap_or(0.0).min(top);
        let top = p.delay_max_ns as f64;
        p.delay_p50_ns = self.delay.quantile(0.5).unwrap_or(0.0).min(top);
        p.delay_p99_ns = self.delay.quantile(0.99).unwrap_or(0.0).min(top);
        self.occupancy = Counts::new();
        self.delay = Counts::new();
        // A limit is known until another one is reported.
        self.point.limit_bytes = p.limit_bytes;
        p
    }
}

/// Merges several points into one: maxima stay maxima, p99 is the largest of them (an upper bound),
/// p50 the mean weighted by arrivals.
pub(super) fn merge(points: &[Point]) -> Point {
    let Some(first) = points.first() else {
        return Point::default();
    };
    if points.len() == 1 {
        return *first;
    }
    let mut all = Point {
        start_ns: first.start_ns,
        ..Default::default()
    };
    for p in points {
        let weight = p.arrivals as f64;
        all.occupancy_p50_bytes += p.occupancy_p50_bytes * weight;
        all.delay_p50_ns += p.delay_p50_ns * weight;
        all.occupancy_p99_bytes = all.occupancy_p99_bytes.max(p.occupancy_p99_bytes);
        all.delay_p99_ns = all.delay_p99_ns.max(p.delay_p99_ns);
        all.occupancy_max_bytes = all.occupancy_max_bytes.max(p.occupancy_max_bytes);
        all.delay_max_ns = all.delay_max_ns.max(p.delay_max_ns);
        all.duration_ns += p.duration_ns;
        all.wire_bytes += p.wire_bytes;
        all.packets += p.packets;
        all.arrivals += p.arrivals;
        all.drops += p.drops;
        all.ce_marked += p.ce_marked;
        all.reports_lost += p.reports_lost;
        all.limit_bytes = p.limit_bytes;
    }
    if all.arrivals > 0 {
        all.occupancy_p50_bytes /= all.arrivals as f64;
        all.delay_p50_ns /= all.arrivals as f64;
    }
    all
}
