// SPDX-License-Identifier: Apache-2.0
//! The estimates of a link over time: one per second for the last hour, one per ten seconds for a
//! day. A link takes about 1.5 MB.

use super::share::Share;
use std::collections::VecDeque;
use tidemark_estimators::{Estimate, LinkEstimate};

const SECOND_NS: u64 = 1_000_000_000;
const FINE_POINTS: usize = 3_600;
const COARSE_EVERY_NS: u64 = 10 * SECOND_NS;
const COARSE_POINTS: usize = 8_640;
/// Minimum number of points, however many links there are: of a minute and of an hour.
const LEAST_FINE_POINTS: usize = 60;
const LEAST_COARSE_POINTS: usize = 360;

/// An estimate and its range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The estimate itself.
    pub value: f32,
    /// Lower end of its range.
    pub low: f32,
    /// Upper end of its range.
    pub high: f32,
}

impl From<&Estimate> for Range {
    fn from(e: &Estimate) -> Self {
        Self {
            value: e.value as f32,
            low: e.low as f32,
            high: e.high as f32,
        }
    }
}

/// The estimates of one second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// End of the window that was estimated.
    pub time_ns: u64,
    /// Flows bottlenecked here.
    pub n_b: Option<Range>,
    /// Mean loss burst over N_b.
    pub alpha: Option<Range>,
    /// Spread of the flows' windows.
    pub delta: Option<Range>,
    /// Harmonic mean of base RTTs, ms.
    pub t_e_ms: Option<Range>,
    /// Share of the capacity that the flows of N_b get.
    pub c_e_share: Option<Range>,
    /// The advised limit; `None` when too little is known.
    pub advised_bytes: Option<u64>,
    /// The limit in force; `None` when unlimited or not known.
    pub limit_bytes: Option<u64>,
}

impl Point {
    /// Creates a point with the kept values of an estimate.
    pub fn of(e: &LinkEstimate, advised_bytes: Option<u64>, limit_bytes: Option<u64>) -> Self {
        let x = &e.estimates;
        Self {
            time_ns: e.to_ns,
            n_b: Some((&x.n_b).into()),
            alpha: Some((&x.alpha).into()),
            delta: x.delta.as_ref().map(Range::from),
            t_e_ms: x.t_e_ms.as_ref().map(Range::from),
            c_e_share: Some((&x.c_e_share).into()),
            advised_bytes,
            limit_bytes,
        }
    }
}

/// The estimates of one link.
#[derive(Debug)]
pub struct History {
    share: Share,
    fine: VecDeque<Point>,
    coarse: VecDeque<Point>,
}

impl Default for History {
    fn default() -> Self {
        Self {
            share: Share::among(1),
            fine: VecDeque::new(),
            coarse: VecDeque::new(),
        }
    }
}

impl History {
    /// Adds a point, if it is newer than the last one.
    pub fn push(&mut self, point: Point) {
        let newer = |by_ns: u64, last: Option<&Point>| {
            last.is_none_or(|l| point.time_ns >= l.time_ns.saturating_add(by_ns))
        };
        if !newer(1, self.fine.back()) {
            return;
        }
        let coarse = newer(COARSE_EVERY_NS, self.coarse.back());
        self.fine.push_back(point);
        if coarse {
            self.coarse.push_back(point);
        }
        self.trim();
    }

    /// Keeps no more points than the link's share.
    pub fn bound(&mut self, share: Share) {
        if self.share != share {
            self.share = share;
            self.trim();
            self.fine.shrink_to_fit();
            self.coarse.shrink_to_fit();
        }
    }

    fn trim(&mut self) {
        let cut = |points: &mut VecDeque<Point>, most: usize| {
            points.drain(..points.len().saturating_sub(most));
        };
        cut(
            &mut self.fine,
            self.share.of(FINE_POINTS, LEAST_FINE_POINTS),
        );
        let most = self.share.of(COARSE_POINTS, LEAST_COARSE_POINTS);
        cut(&mut self.coarse, most);
    }

    /// Returns the end of the newest window.
    pub fn last_ns(&self) -> Option<u64> {
        self.fine.back().map(|p| p.time_ns)
    }

    /// Returns at most `max_points` points in `[from_ns, to_ns)`, evenly spaced and including the
    /// newest: one per second as far back as these reach.
    pub fn query(&self, from_ns: u64, to_ns: u64, max_points: usize) -> Vec<Point> {
        let fine_from_ns = self.fine.front().map_or(0, |p| p.time_ns);
        let older = self.coarse.iter().filter(|p| p.time_ns < fine_from_ns);
        let all = older.chain(&self.fine);
        let found: Vec<Point> = all
            .filter(|p| (from_ns..to_ns).contains(&p.time_ns))
            .copied()
            .collect();
        let every = found.len().div_ceil(max_points.max(1)).max(1);
        // Counted from the newest, so that the choice of points does not shift every second.
        let mut kept: Vec<Point> = found.iter().rev().step_by(every).copied().collect();
        kept.reverse();
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Point {
        Point {
            time_ns: s * SECOND_NS,
            advised_bytes: Some(s),
            ..Point::default()
        }
    }

    #[test]
    fn keeps_seconds_of_an_hour_and_tenths_of_a_day() {
        let mut h = History::default();
        for s in 1..=100_000 {
            h.push(at(s));
        }
        let all = h.query(0, u64::MAX, 100_000);
        assert_eq!(all.last(), Some(&at(100_000)));
        assert!(all.len() <= FINE_POINTS + COARSE_POINTS);
        assert!(all.windows(2).all(|w| w[0].time_ns < w[1].time_ns));
        // Seconds within the last hour.
        let hour = h.query(99_000 * SECOND_NS, 99_010 * SECOND_NS, 100);
        assert_eq!(hour, (99_000..99_010).map(at).collect::<Vec<_>>());
        // One per ten seconds before.
        let before = h.query(50_000 * SECOND_NS, 50_100 * SECOND_NS, 100);
        assert_eq!(before.len(), 10);
        assert!(all[0].time_ns >= 10_000 * SECOND_NS);
    }

    #[test]
    fn thins_out_and_keeps_the_newest() {
        let mut h = History::default();
        for s in 1..=1000 {
            h.push(at(s));
        }
        let few = h.query(0, u64::MAX, 64);
        assert!(few.len() <= 64 && few.len() > 50, "{}", few.len());
        assert_eq!(few.last(), Some(&at(1000)));
    }

    #[test]
    fn the_same_estimate_is_kept_once() {
        let mut h = History::default();
        h.push(at(5));
        h.push(at(5));
        h.push(at(4));
        assert_eq!(h.query(0, u64::MAX, 10), [at(5)]);
        assert_eq!(h.last_ns(), Some(5 * SECOND_NS));
    }

    #[test]
    fn many_links_keep_the_newest_of_each() {
        let mut h = History::default();
        for s in 1..=10_000 {
            h.push(at(s));
        }
        h.bound(Share::among(1_000_000));
        let all = h.query(0, u64::MAX, 100_000);
        assert_eq!(all.last(), Some(&at(10_000)));
        assert!(all.len() <= LEAST_FINE_POINTS + LEAST_COARSE_POINTS);
        assert!(all[0].time_ns <= 6_500 * SECOND_NS);
        h.push(at(10_001));
        assert_eq!(h.fine.len(), LEAST_FINE_POINTS);
    }
}
