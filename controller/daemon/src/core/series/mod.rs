// SPDX-License-Identifier: Apache-2.0
//! Series of a link for the charts: link intervals at three resolutions, each with a maximum
//! length, so that memory does not grow with time.

mod point;

pub use point::Point;

use super::share::Share;
use point::{Step, merge};
use std::collections::VecDeque;
use tidemark_control::Timestamp;
use tidemark_proto::telemetry::LinkInterval;

const MID_NS: u64 = 100_000_000;
const SLOW_NS: u64 = 1_000_000_000;
const FINE_POINTS: usize = 60_000;
const MID_POINTS: usize = 9_000;
const SLOW_POINTS: usize = 6 * 3_600;
/// Minimum number of points, however many links there are.
const LEAST_POINTS: usize = 600;

#[derive(Debug)]
struct Level {
    step_ns: u64,
    /// Maximum number of points if there are few links.
    most: usize,
    capacity: usize,
    current: Option<(u64, Step)>,
    points: VecDeque<Point>,
}

impl Level {
    fn new(step_ns: u64, capacity: usize) -> Self {
        Self {
            step_ns,
            most: capacity,
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

    fn bound(&mut self, share: Share) {
        self.capacity = share.of(self.most, LEAST_POINTS);
        let surplus = self.points.len().saturating_sub(self.capacity);
        if surplus > 0 {
            self.points.drain(..surplus);
            self.points.shrink_to_fit();
        }
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
    fine: Level,
    /// `None` if the intervals are at least as long.
    mid: Option<Level>,
    slow: Level,
    /// Start of the first interval of the link that the collector has had, ns.
    pub first_ns: u64,
    /// End of the last interval seen, ns.
    pub last_ns: u64,
    /// End of the last interval in which a packet was reported, ns; 0 before the first.
    pub reported_ns: u64,
    /// When that interval arrived.
    pub heard: Option<Timestamp>,
    /// Limit as last reported, bytes; 0 when unlimited or not reported.
    pub limit_bytes: u64,
}

impl LinkSeries {
    /// Creates a series of intervals of `interval_ms`, with `times` the bounds of a live collector.
    pub fn keeping(interval_ms: u32, times: usize) -> Self {
        let fine_ns = u64::from(interval_ms.max(1)) * 1_000_000;
        Self {
            fine: Level::new(fine_ns, times * FINE_POINTS),
            mid: (fine_ns < MID_NS).then(|| Level::new(MID_NS, times * MID_POINTS)),
            slow: Level::new(SLOW_NS.max(fine_ns), times * SLOW_POINTS),
            first_ns: u64::MAX,
            last_ns: 0,
            reported_ns: 0,
            heard: None,
            limit_bytes: 0,
        }
    }

    /// Adds an interval that arrived at `at`. When the node's clock restarts, the whole series is
    /// replaced ([`super::feed::Feed::push`]).
    pub fn push(&mut self, i: &LinkInterval, at: Timestamp) {
        // The collector may have seen more of the link than we have.
        self.first_ns = match i.first_start_ns {
            0 => self.first_ns.min(i.start_ns),
            first => first,
        };
        let end_ns = i.start_ns.saturating_add(i.duration_ns);
        self.last_ns = self.last_ns.max(end_ns);
        // Every interval of a configured port arrives, even if nothing was reported; those of other
        // ports until a second after their last packet.
        if reports(i) {
            self.reported_ns = self.reported_ns.max(end_ns);
            self.heard = Some(at);
        }
        if i.packets > 0 || i.limit_bytes != 0 {
            self.limit_bytes = i.limit_bytes;
        }
        for level in self.levels_mut() {
            level.push(i);
        }
    }

    /// Memory used by all points, bytes.
    pub fn memory_bytes(&self) -> usize {
        let levels = [Some(&self.fine), self.mid.as_ref(), Some(&self.slow)];
        let points = levels.into_iter().flatten().map(|l| l.points.capacity());
        points.sum::<usize>() * size_of::<Point>()
    }

    fn levels_mut(&mut self) -> impl Iterator<Item = &mut Level> {
        let fine = std::iter::once(&mut self.fine);
        fine.chain(&mut self.mid).chain([&mut self.slow])
    }

    /// Keeps no more points than the link's share.
    pub fn bound(&mut self, share: Share) {
        self.levels_mut().for_each(|l| l.bound(share));
    }

    /// Returns the last complete second.
    pub fn last_second(&self) -> Option<&Point> {
        self.slow.points.back()
    }

    /// Returns the step length and the steps that start in `[from_ns, to_ns)`, at the finest
    /// resolution that reaches back to `from_ns`, merged to at most `max_points`.
    pub fn query(&self, from_ns: u64, to_ns: u64, max_points: usize) -> (u64, Vec<Point>) {
        let max_points = max_points.max(1);
        let reaches = |l: &Level| {
            let full = l.points.len() >= l.capacity;
            !full || l.points.front().is_some_and(|p| p.start_ns <= from_ns)
        };
        let affordable = |l: &Level| l.within(from_ns, to_ns).len() <= 8 * max_points;
        let fits = |l: &&Level| reaches(l) && affordable(l);
        let finer = std::iter::once(&self.fine).chain(&self.mid);
        let level = finer.into_iter().find(fits).unwrap_or(&self.slow);
        let points: Vec<Point> = level.within(from_ns, to_ns).copied().collect();
        let every = points.len().div_ceil(max_points).max(1);
        let merged = points.chunks(every).map(merge).collect();
        (level.step_ns * every as u64, merged)
    }
}

/// Whether a packet was reported in an interval.
pub fn reports(i: &LinkInterval) -> bool {
    i.packets > 0 || i.arrivals > 0 || i.drops > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_proto::histogram::Counts;

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
        let mut s = LinkSeries::keeping(1, 1);
        for ms in 0..2500 {
            s.push(
                &interval(ms, ms, u32::from(ms == 1700)),
                Timestamp::default(),
            );
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
        assert_eq!(last.utilisation(8_000_000), Some(1.0));
        assert_eq!(last.utilisation(0), None);
        assert_eq!(s.limit_bytes, 5000);
    }

    #[test]
    fn merging_keeps_sums_and_maxima() {
        let mut s = LinkSeries::keeping(1, 1);
        for ms in 0..1001 {
            let occupancy = if ms == 333 { 9000 } else { 10 };
            s.push(&interval(ms, occupancy, 1), Timestamp::default());
        }
        let (step, points) = s.query(0, 1_000_000_000, 10);
        assert!(points.len() <= 10, "{}", points.len());
        assert_eq!(step * points.len() as u64, 1_000_000_000);
        assert_eq!(points.iter().map(|p| p.drops).sum::<u64>(), 1000);
        assert_eq!(
            points.iter().map(|p| p.occupancy_max_bytes).max(),
            Some(9000)
        );
        assert_eq!(points[0].limit_bytes, 5000);
    }

    #[test]
    fn memory_is_bounded() {
        let mut s = LinkSeries::keeping(1, 1);
        for ms in 0..(FINE_POINTS as u64 + 5000) {
            s.push(&interval(ms, 1, 0), Timestamp::default());
        }
        assert_eq!(s.fine.points.len(), FINE_POINTS);
        // Too far back for the finest level.
        let (step, _) = s.query(0, u64::MAX, 100_000);
        assert_eq!(step, MID_NS);
    }

    #[test]
    fn many_links_keep_the_newest_of_each() {
        let mut s = LinkSeries::keeping(1, 1);
        for ms in 0..20_000 {
            s.push(&interval(ms, 1, 0), Timestamp::default());
        }
        let (_, all) = s.query(0, u64::MAX, 100_000);
        s.bound(Share::among(1_000_000));
        assert_eq!(s.fine.points.len(), LEAST_POINTS);
        let (step, newest) = s.query(19_900_000_000, u64::MAX, 1000);
        assert_eq!((step, newest.last()), (1_000_000, all.last()));
        // Further back the slower levels answer.
        assert_eq!(s.query(0, u64::MAX, 1000).0, MID_NS);
        s.push(&interval(20_000, 1, 0), Timestamp::default());
        assert_eq!(s.fine.points.len(), LEAST_POINTS);
    }
}
