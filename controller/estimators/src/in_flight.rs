// SPDX-License-Identifier: Apache-2.0
//! Packets in flight, from the switch alone.
//!
//! A packet that left the queue at e is acknowledged at its sender's side of
//! the switch a base RTT T later, and a packet that comes at t leaves at t + D
//! with D the queueing delay of the moment. So what a flow has in flight at t is
//! what leaves in (t − T, t + D]. For a window-limited flow that is its window,
//! to the packet.

use crate::stats::quantile_sorted;
use crate::window::FlowWindow;

/// Points looked at per round trip.
const POINTS_PER_RTT: f64 = 8.0;
/// However long the history, no more points than this.
const MAX_POINTS: u64 = 20_000;
/// Within this many packets of its 90th percentile a window is at its top: an
/// acknowledgement for two packets moves it by one, and a record's length blurs
/// it a little.
const TOP_PKTS: f64 = 1.25;
/// Round trips after a loss that are recovery, not growth.
const RECOVERY_RTTS: f64 = 3.0;
/// Shortest and longest piece, in RTTs, over which growth is fitted.
const PIECE_RTTS: (f64, f64) = (6.0, 24.0);
/// Growth beyond this per RTT is slow start: it says no more than this.
const LARGEST_GROWTH: f64 = 1.5;

/// A moment of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Moment {
    pub time_ns: u64,
    pub packets: f64,
    /// Base RTT and queueing delay here, s.
    pub rtt_s: f64,
}

/// What the packets in flight say of a flow's limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shape {
    pub mean: f64,
    /// 90th percentile.
    pub top: f64,
    /// Share of the time at the top.
    pub at_top: f64,
    /// Round trips seen.
    pub rtts: f64,
    /// Segments by which the window grows per RTT while nothing is lost; `None`
    /// when no stretch without a loss was long enough.
    pub growth: Option<f64>,
    /// Round trips behind `growth`.
    pub growth_rtts: f64,
}

/// The flow's packets in flight between two times, from its records with the
/// base RTT `base_s`.
pub(crate) fn moments(flow: &FlowWindow<'_>, base_s: f64, from_ns: u64, to_ns: u64) -> Vec<Moment> {
    let records: Vec<_> = flow.history.iter().filter(|r| r.packets > 0).collect();
    let (Some(first), Some(last)) = (records.first(), records.last()) else {
        return Vec::new();
    };
    let interval = first.duration_ns.max(1);
    let mean_delay_ns = {
        let (sum, n) = records.iter().fold((0u64, 0u64), |(s, n), r| {
            (s + r.delay_sum_ns, n + u64::from(r.packets))
        });
        sum as f64 / n.max(1) as f64
    };
    let base_ns = base_s * 1e9;
    let begin = from_ns.max(first.start_ns.saturating_add(base_ns as u64));
    let end = to_ns.min(last.start_ns);
    if end <= begin {
        return Vec::new();
    }
    let step = (((base_ns + mean_delay_ns) / POINTS_PER_RTT) as u64)
        .max(interval)
        .max((end - begin) / MAX_POINTS);
    // Packets that left up to a time, linear within a record.
    let mut total = 0.0;
    let curve: Vec<(f64, f64)> = records
        .iter()
        .flat_map(|r| {
            let before = total;
            total += f64::from(r.packets);
            [
                (r.start_ns as f64, before),
                ((r.start_ns + r.duration_ns) as f64, total),
            ]
        })
        .collect();
    let delays: Vec<(f64, f64)> = records
        .iter()
        .map(|r| {
            let middle = r.start_ns as f64 + r.duration_ns as f64 / 2.0;
            (middle, r.delay_sum_ns as f64 / f64::from(r.packets))
        })
        .collect();
    let (mut low, mut high, mut delay) = (
        Cursor::new(&curve),
        Cursor::new(&curve),
        Cursor::new(&delays),
    );
    let mut out = Vec::new();
    let mut at = begin;
    while at < end {
        let t = at as f64;
        let d = delay.at(t);
        if t + d > end as f64 {
            break;
        }
        let packets = high.at(t + d) - low.at(t - base_ns);
        out.push(Moment {
            time_ns: at,
            packets: packets * flow.sampling,
            rtt_s: (base_ns + d) / 1e9,
        });
        at += step;
    }
    out
}

/// Linear interpolation at arguments that hardly ever go back.
struct Cursor<'a> {
    points: &'a [(f64, f64)],
    next: usize,
}

impl<'a> Cursor<'a> {
    fn new(points: &'a [(f64, f64)]) -> Self {
        Self { points, next: 0 }
    }

    fn at(&mut self, x: f64) -> f64 {
        while self.next > 0 && self.points.get(self.next - 1).is_some_and(|p| p.0 > x) {
            self.next -= 1;
        }
        while self.points.get(self.next).is_some_and(|p| p.0 <= x) {
            self.next += 1;
        }
        let before = self.next.checked_sub(1).and_then(|i| self.points.get(i));
        match (before, self.points.get(self.next)) {
            (Some(&(x0, y0)), Some(&(x1, y1))) if x1 > x0 => y0 + (y1 - y0) * (x - x0) / (x1 - x0),
            (Some(&(_, y)), _) | (None, Some(&(_, y))) => y,
            (None, None) => 0.0,
        }
    }
}

/// Sums up the moments, silences left out. `losses_ns` are the times, ascending,
/// of drops and retransmissions.
pub(crate) fn shape(moments: &[Moment], losses_ns: &[u64]) -> Option<Shape> {
    let moments: Vec<Moment> = moments
        .iter()
        .filter(|m| m.packets > 0.5)
        .copied()
        .collect();
    let mut sorted: Vec<f64> = moments.iter().map(|m| m.packets).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let top = quantile_sorted(&sorted, 0.9)?;
    let n = sorted.len() as f64;
    let at_top = sorted.iter().filter(|&&p| p >= top - TOP_PKTS).count() as f64 / n;
    let progress = progress(&moments);
    let (growth, growth_rtts) = growth(&moments, &progress, losses_ns);
    Some(Shape {
        mean: sorted.iter().sum::<f64>() / n,
        top,
        at_top,
        rtts: progress.last().copied().unwrap_or(0.0),
        growth,
        growth_rtts,
    })
}

/// Round trips from the first moment to each.
fn progress(moments: &[Moment]) -> Vec<f64> {
    let mut sum = 0.0;
    let mut last = None::<u64>;
    moments
        .iter()
        .map(|m| {
            let elapsed = last.map_or(0, |l| m.time_ns.saturating_sub(l));
            sum += elapsed as f64 / 1e9 / m.rtt_s.max(1e-6);
            last = Some(m.time_ns);
            sum
        })
        .collect()
}

/// Slope over the pieces of the stretches without a loss, weighted by length.
fn growth(moments: &[Moment], progress: &[f64], losses_ns: &[u64]) -> (Option<f64>, f64) {
    let (mut gained, mut rtts) = (0.0, 0.0);
    let mut loss_at = 0usize;
    let mut start = 0usize;
    while start < moments.len() {
        let Some(m) = moments.get(start) else { break };
        while losses_ns.get(loss_at).is_some_and(|&l| l <= m.time_ns) {
            loss_at += 1;
        }
        let until = losses_ns.get(loss_at).copied().unwrap_or(u64::MAX);
        let rest = moments.get(start..).unwrap_or_default();
        let len = rest.partition_point(|m| m.time_ns < until).max(1);
        let stop = start + len;
        let mut from = start;
        if loss_at > 0 {
            let begun = progress.get(start).copied().unwrap_or(0.0);
            from += progress
                .get(start..stop)
                .unwrap_or_default()
                .partition_point(|&p| p < begun + RECOVERY_RTTS);
        }
        for (slope, length) in pieces(moments, progress, from, stop) {
            gained += slope * length;
            rtts += length;
        }
        start = stop;
    }
    ((rtts > 0.0).then(|| gained / rtts), rtts)
}

/// Slopes (segments per RTT) and lengths (RTTs) of the pieces of one stretch.
fn pieces(moments: &[Moment], progress: &[f64], from: usize, stop: usize) -> Vec<(f64, f64)> {
    let (Some(x), Some(m)) = (progress.get(from..stop), moments.get(from..stop)) else {
        return Vec::new();
    };
    let (Some(&first), Some(&last)) = (x.first(), x.last()) else {
        return Vec::new();
    };
    let count = ((last - first) / PIECE_RTTS.1).ceil().max(1.0);
    let length = (last - first) / count;
    let mut out = Vec::new();
    for i in 0..count as usize {
        let a = x.partition_point(|&p| p < first + length * i as f64);
        let b = x.partition_point(|&p| p <= first + length * (i as f64 + 1.0));
        let (Some(x), Some(m)) = (x.get(a..b), m.get(a..b)) else {
            continue;
        };
        if let Some((slope, rtts)) = fit(x, m)
            && rtts >= PIECE_RTTS.0
        {
            out.push((slope.clamp(-LARGEST_GROWTH, LARGEST_GROWTH), rtts));
        }
    }
    out
}

/// Least-squares slope and the length it rests on.
fn fit(x: &[f64], m: &[Moment]) -> Option<(f64, f64)> {
    if x.len() < 4 {
        return None;
    }
    let n = x.len() as f64;
    let mean_x = x.iter().sum::<f64>() / n;
    let mean_y = m.iter().map(|m| m.packets).sum::<f64>() / n;
    let (mut xy, mut xx) = (0.0, 0.0);
    for (x, m) in x.iter().zip(m) {
        xy += (x - mean_x) * (m.packets - mean_y);
        xx += (x - mean_x).powi(2);
    }
    (xx > 0.0).then(|| {
        (
            xy / xx,
            x.last().unwrap_or(&0.0) - x.first().unwrap_or(&0.0),
        )
    })
}

/// Times at which the flow lost, as far as the switch can see: drops here, and
/// packets that came again.
pub(crate) fn losses_ns(flow: &FlowWindow<'_>) -> Vec<u64> {
    let mut all = flow.drops_ns.clone();
    all.extend(
        flow.history
            .iter()
            .filter(|r| r.retransmitted_packets > 0)
            .map(|r| r.start_ns),
    );
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(n: usize, f: impl Fn(usize) -> f64) -> Vec<Moment> {
        (0..n)
            .map(|i| Moment {
                time_ns: i as u64 * 12_500_000,
                packets: f(i),
                rtt_s: 0.1,
            })
            .collect()
    }

    #[test]
    fn a_constant_window_is_at_its_top_and_does_not_grow() {
        let s = shape(&line(400, |_| 6.0), &[]).unwrap();
        assert_eq!((s.mean, s.top, s.at_top), (6.0, 6.0, 1.0));
        assert!(s.growth.unwrap().abs() < 1e-9);
        assert!((s.rtts - 399.0 / 8.0).abs() < 1e-6);
    }

    /// From 10 to 20 by half a segment per RTT, over and over.
    #[test]
    fn a_sawtooth_grows_between_its_losses() {
        let period = 160;
        let m = line(1600, |i| 10.0 + (i % period) as f64 / 16.0);
        let losses: Vec<u64> = (1..10).map(|k| k * period as u64 * 12_500_000).collect();
        let s = shape(&m, &losses).unwrap();
        assert!((s.growth.unwrap() - 0.5).abs() < 1e-6, "{s:?}");
        assert!(s.at_top < 0.3 && s.growth_rtts > 100.0, "{s:?}");
    }

    #[test]
    fn a_cursor_interpolates() {
        let mut c = Cursor::new(&[(0.0, 0.0), (10.0, 5.0), (20.0, 5.0)]);
        let got: Vec<f64> = [-1.0, 0.0, 5.0, 15.0, 25.0, 4.0].map(|x| c.at(x)).into();
        assert_eq!(got, [0.0, 0.0, 2.5, 5.0, 5.0, 2.0]);
        assert_eq!(Cursor::new(&[]).at(1.0), 0.0);
    }
}
