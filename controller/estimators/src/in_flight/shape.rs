// SPDX-License-Identifier: Apache-2.0
//! Evidence of a flow's limit in the time series of its packets in flight.

use super::moments::Moment;
use crate::stats::{quantile, slope};
use crate::window::FlowWindow;

/// A window within this many packets of its 90th percentile is at its top: an acknowledgement for
/// two packets moves it by one, and a record's length blurs it a little.
const TOP_PKTS: f64 = 1.25;
/// Round trips after a loss that count as recovery, not growth.
pub(crate) const RECOVERY_RTTS: f64 = 3.0;
/// Shortest and longest piece over which growth is fitted, RTTs.
const PIECE_RTTS: (f64, f64) = (6.0, 24.0);
/// Largest growth per RTT that counts: faster growth is slow start, and shows no more.
const LARGEST_GROWTH: f64 = 1.5;

/// Shape of the packets in flight, as evidence of a flow's limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shape {
    pub mean: f64,
    /// 90th percentile.
    pub top: f64,
    /// Share of the time at the top.
    pub at_top: f64,
    pub rtts: f64,
    /// Segments by which the window grows per RTT without losses; `None` if no stretch without a
    /// loss was long enough.
    pub growth: Option<f64>,
    /// Round trips over which `growth` is measured.
    pub growth_rtts: f64,
}

/// Summarises the moments, without silences. `losses_ns` are the times of drops and
/// retransmissions, ascending.
pub(crate) fn shape(mut moments: Vec<Moment>, losses_ns: &[u64]) -> Option<Shape> {
    moments.retain(|m| m.packets > 0.5);
    let windows: Vec<f64> = moments.iter().map(|m| m.packets).collect();
    let top = quantile(&windows, 0.9)?;
    let n = windows.len() as f64;
    let at_top = windows.iter().filter(|&&p| p >= top - TOP_PKTS).count() as f64 / n;
    let progress = progress(&moments);
    let (growth, growth_rtts) = growth(&moments, &progress, losses_ns);
    Some(Shape {
        mean: windows.iter().sum::<f64>() / n,
        top,
        at_top,
        rtts: progress.last().copied().unwrap_or(0.0),
        growth,
        growth_rtts,
    })
}

/// Round trips from the first moment to each moment.
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

/// Mean slope over the pieces of the stretches without a loss, weighted by length.
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

/// Least-squares slope, and the length over which it is fitted.
fn fit(x: &[f64], m: &[Moment]) -> Option<(f64, f64)> {
    if x.len() < 4 {
        return None;
    }
    let points: Vec<(f64, f64)> = x.iter().copied().zip(m.iter().map(|m| m.packets)).collect();
    let slope = slope(&points)?;
    let length = x.last().unwrap_or(&0.0) - x.first().unwrap_or(&0.0);
    Some((slope, length))
}

/// Times at which the flow lost, as far as the switch can see: drops and CE marks here, and
/// retransmissions.
pub(crate) fn losses_ns(flow: &FlowWindow<'_>) -> Vec<u64> {
    let mut all = flow.signals_ns.clone();
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
        let s = shape(line(400, |_| 6.0), &[]).unwrap();
        assert_eq!((s.mean, s.top, s.at_top), (6.0, 6.0, 1.0));
        assert!(s.growth.unwrap().abs() < 1e-9);
        assert!((s.rtts - 399.0 / 8.0).abs() < 1e-6);
    }

    /// Grows from 10 to 20 by half a segment per RTT, over and over.
    #[test]
    fn a_sawtooth_grows_between_its_losses() {
        let period = 160;
        let m = line(1600, |i| 10.0 + (i % period) as f64 / 16.0);
        let losses: Vec<u64> = (1..10).map(|k| k * period as u64 * 12_500_000).collect();
        let s = shape(m, &losses).unwrap();
        assert!((s.growth.unwrap() - 0.5).abs() < 1e-6, "{s:?}");
        assert!(s.at_top < 0.3 && s.growth_rtts > 100.0, "{s:?}");
    }
}
