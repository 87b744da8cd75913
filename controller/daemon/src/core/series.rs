// SPDX-License-Identifier: Apache-2.0
//! What the charts show of a link: link intervals at three resolutions, each
//! within a bound of length, so that memory does not grow with time.

use serde::Serialize;
use std::collections::VecDeque;
use tidemark_proto::histogram::Counts;
use tidemark_proto::telemetry::LinkInterval;

const MID_NS: u64 = 100_000_000;
const SLOW_NS: u64 = 1_000_000_000;
const FINE_POINTS: usize = 60_000;
const MID_POINTS: usize = 9_000;
const SLOW_POINTS: usize = 6 * 3_600;

/// One step of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    pub start_ns: u64,
    pub duration_ns: u64,
    pub occupancy_p50_bytes: f64,
    pub occupancy_p99_bytes: f64,
    pub occupancy_max_bytes: u64,
    pub delay_p50_ns: f64,
    pub delay_p99_ns: f64,
    pub delay_max_ns: u64,
    pub wire_bytes: u64,
    pub packets: u64,
    pub arrivals: u64,
    pub drops: u64,
    pub ce_marked: u64,
    pub limit_bytes: u64,
    pub reports_lost: u64,
}

/// Sums intervals into steps of equal length.
#[derive(Debug, Default)]
struct Step {
    point: Point,
    occupancy: Counts,
    delay: Counts,
}

impl Step {
    fn add(&mut self, i: &LinkInterval) {
        let p = &mut self.point;
        p.duration_ns += i.duration_ns;
        // Reports stand for several packets when sampled; drops for themselves.
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

    fn take(&mut self) -> Point {
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

#[derive(Debug)]
struct Level {
    step_ns: u64,
    capacity: usize,
    current: Option<(u64, Step)>,
    points: VecDeque<Point>,
}

impl Level {
    fn new(step_ns: u64, capacity: usize) -> Self {
        Self {
            step_ns,
            capacity,
            current: None,
            points: VecDeque::new(),
        }
    }

    fn push(&mut self, i: &LinkInterval) {
        let number = i.start_ns / self.step_ns.max(1);
        let (open, step) = self
            .current
            .get_or_insert_with(|| (number, Step::default()));
        if *open != number {
            let mut point = step.take();
            point.start_ns = *open * self.step_ns;
            *open = number;
            self.points.push_back(point);
            if self.points.len() > self.capacity {
                self.points.pop_front();
            }
        }
        step.add(i);
    }

    fn within(&self, from_ns: u64, to_ns: u64) -> impl ExactSizeIterator<Item = &Point> {
        let a = self.points.partition_point(|p| p.start_ns < from_ns);
        let b = self.points.partition_point(|p| p.start_ns < to_ns);
        self.points.range(a..b.max(a))
    }
}

/// The series of one link.
#[derive(Debug)]
pub struct LinkSeries {
    levels: [Level; 3],
    /// Start of the first interval seen.
    pub first_ns: u64,
    /// End of the last interval seen.
    pub last_ns: u64,
    /// Limit as last reported, bytes; 0 when unlimited or not reported.
    pub limit_bytes: u64,
}

impl LinkSeries {
    /// A series of intervals of `interval_ms`.
    pub fn new(interval_ms: u32) -> Self {
        let fine_ns = u64::from(interval_ms.max(1)) * 1_000_000;
        Self {
            levels: [
                Level::new(fine_ns, FINE_POINTS),
                Level::new(MID_NS.max(fine_ns), MID_POINTS),
                Level::new(SLOW_NS.max(fine_ns), SLOW_POINTS),
            ],
            first_ns: u64::MAX,
            last_ns: 0,
            limit_bytes: 0,
        }
    }

    /// Adds an interval. One from before the last (the node's clock started
    /// anew) clears the series.
    pub fn push(&mut self, i: &LinkInterval) {
        if i.start_ns + SLOW_NS < self.last_ns {
            let interval_ms = self.levels[0].step_ns / 1_000_000;
            *self = Self::new(u32::try_from(interval_ms).unwrap_or(1));
        }
        self.first_ns = self.first_ns.min(i.start_ns);
        self.last_ns = self.last_ns.max(i.start_ns + i.duration_ns);
        if i.packets > 0 || i.limit_bytes != 0 {
            self.limit_bytes = i.limit_bytes;
        }
        for level in &mut self.levels {
            level.push(i);
        }
    }

    /// The last complete second.
    pub fn last_second(&self) -> Option<&Point> {
        self.levels[2].points.back()
    }

    /// Steps that start in `[from_ns, to_ns)`, at the finest resolution that
    /// reaches back to `from_ns`, merged to at most `max_points`.
    pub fn query(&self, from_ns: u64, to_ns: u64, max_points: usize) -> (u64, Vec<Point>) {
        let max_points = max_points.max(1);
        let reaches = |l: &Level| {
            let full = l.points.len() >= l.capacity;
            !full || l.points.front().is_some_and(|p| p.start_ns <= from_ns)
        };
        let affordable = |l: &Level| l.within(from_ns, to_ns).len() <= 8 * max_points;
        let fits = |l: &&Level| reaches(l) && affordable(l);
        let level = self.levels.iter().find(fits).unwrap_or(&self.levels[2]);
        let points: Vec<Point> = level.within(from_ns, to_ns).copied().collect();
        let every = points.len().div_ceil(max_points).max(1);
        let merged = points.chunks(every).map(merge).collect();
        (level.step_ns * every as u64, merged)
    }
}

/// One point for several: maxima stay maxima, p99 is the largest of them (an
/// upper bound), p50 the mean weighted by arrivals.
fn merge(points: &[Point]) -> Point {
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

/// Points as columns.
#[derive(Debug, Default, Serialize)]
pub struct Columns {
    pub step_ns: u64,
    pub time_ns: Vec<u64>,
    pub occupancy_p50_bytes: Vec<f64>,
    pub occupancy_p99_bytes: Vec<f64>,
    pub occupancy_max_bytes: Vec<u64>,
    pub delay_p50_ms: Vec<f64>,
    pub delay_p99_ms: Vec<f64>,
    pub delay_max_ms: Vec<f64>,
    /// Null without a capacity.
    pub utilisation: Vec<Option<f64>>,
    pub packets: Vec<u64>,
    pub arrivals: Vec<u64>,
    pub drops: Vec<u64>,
    pub ce_marked: Vec<u64>,
    /// Null when unlimited or not reported.
    pub limit_bytes: Vec<Option<u64>>,
    pub reports_lost: Vec<u64>,
}

/// Utilisation of a step at a capacity; `None` without one.
pub fn utilisation(p: &Point, capacity_bps: u64) -> Option<f64> {
    let possible = capacity_bps as f64 / 8.0 * p.duration_ns as f64 / 1e9;
    (possible > 0.0).then(|| p.wire_bytes as f64 / possible)
}

impl Columns {
    /// Columns of `points` for a link of `capacity_bps` (0 = not known).
    pub fn new(step_ns: u64, points: &[Point], capacity_bps: u64) -> Self {
        let mut c = Columns {
            step_ns,
            ..Default::default()
        };
        for p in points {
            c.time_ns.push(p.start_ns);
            c.occupancy_p50_bytes.push(p.occupancy_p50_bytes.round());
            c.occupancy_p99_bytes.push(p.occupancy_p99_bytes.round());
            c.occupancy_max_bytes.push(p.occupancy_max_bytes);
            c.delay_p50_ms.push(p.delay_p50_ns / 1e6);
            c.delay_p99_ms.push(p.delay_p99_ns / 1e6);
            c.delay_max_ms.push(p.delay_max_ns as f64 / 1e6);
            c.utilisation.push(utilisation(p, capacity_bps));
            c.packets.push(p.packets);
            c.arrivals.push(p.arrivals);
            c.drops.push(p.drops);
            c.ce_marked.push(p.ce_marked);
            c.limit_bytes
                .push((p.limit_bytes != 0).then_some(p.limit_bytes));
            c.reports_lost.push(p.reports_lost);
        }
        c
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(ms: u64, occupancy: u64, drops: u32) -> LinkInterval {
        let mut h = Counts::new();
        for _ in 0..10 {
            h.record(occupancy);
        }
        LinkInterval {
            start_ns: ms * 1_000_000,
            duration_ns: 1_000_000,
            packets: 10,
            wire_bytes: 1000,
            arrivals: 10 + drops,
            drops,
            occupancy_bytes: Some(h.take()),
            occupancy_max_bytes: occupancy,
            limit_bytes: 5000,
            ..Default::default()
        }
    }

    #[test]
    fn steps_hold_what_went_into_them() {
        let mut s = LinkSeries::new(1);
        for ms in 0..2500 {
            s.push(&interval(ms, ms, u32::from(ms == 1700)));
        }
        let (step, fine) = s.query(1_000_000_000, 1_100_000_000, 1000);
        assert_eq!((step, fine.len()), (1_000_000, 100));
        assert_eq!(fine[7].occupancy_max_bytes, 1007);
        let last = s.last_second().unwrap();
        assert_eq!(last.start_ns, 1_000_000_000);
        assert_eq!(
            (last.packets, last.drops, last.arrivals),
            (10_000, 1, 10_001)
        );
        assert_eq!(last.occupancy_max_bytes, 1999);
        assert!((last.occupancy_p50_bytes - 1500.0).abs() < 30.0);
        assert_eq!(utilisation(last, 8_000_000), Some(1.0));
        assert_eq!(utilisation(last, 0), None);
        assert_eq!(s.limit_bytes, 5000);
    }

    #[test]
    fn merging_keeps_sums_and_maxima() {
        let mut s = LinkSeries::new(1);
        for ms in 0..1001 {
            s.push(&interval(ms, if ms == 333 { 9000 } else { 10 }, 1));
        }
        let (step, points) = s.query(0, 1_000_000_000, 10);
        assert!(points.len() <= 10, "{}", points.len());
        assert_eq!(step * points.len() as u64, 1_000_000_000);
        assert_eq!(points.iter().map(|p| p.drops).sum::<u64>(), 1000);
        assert_eq!(
            points.iter().map(|p| p.occupancy_max_bytes).max(),
            Some(9000)
        );
        let c = Columns::new(step, &points, 8_000_000);
        assert_eq!(c.time_ns.len(), c.limit_bytes.len());
        assert_eq!(c.limit_bytes[0], Some(5000));
    }

    #[test]
    fn memory_is_bounded_and_a_restarted_clock_starts_anew() {
        let mut s = LinkSeries::new(1);
        for ms in 0..(FINE_POINTS as u64 + 5000) {
            s.push(&interval(ms, 1, 0));
        }
        assert_eq!(s.levels[0].points.len(), FINE_POINTS);
        // Too far back for the finest level.
        let (step, _) = s.query(0, u64::MAX, 100_000);
        assert_eq!(step, MID_NS);
        s.push(&interval(3, 1, 0));
        assert_eq!(s.first_ns, 3_000_000);
        assert_eq!(s.query(0, u64::MAX, 10).1.len(), 0);
    }
}
