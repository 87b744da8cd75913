// SPDX-License-Identifier: Apache-2.0
//! Δ (UTB §4.1, §5.6) and Jain's index.

use crate::in_flight::moments;
use crate::rtt::BaseRtt;
use crate::stats::{mean, mean_error, quantile};
use crate::window::FlowWindow;

/// Longest time for which a sampled window is assumed to hold.
const CARRY_NS: u64 = 2_000_000_000;

/// Δ and its components.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fairness {
    pub delta: f64,
    /// (BDP/n)/w_p01.
    pub low: f64,
    /// w_p99/(BDP/n).
    pub high: f64,
    pub jain: f64,
    pub window_p01_pkts: f64,
    /// Relative error of `delta` (90 %), because only a part of the time and of the flows was seen.
    pub error: f64,
    /// Factors on `delta` if the 1st percentile were a segment larger, and a segment smaller.
    pub by_a_segment: (f64, f64),
    pub samples: u64,
}

/// Returns one flow's windows over the observed time, as packets in flight (UTB §3.3). For a probed
/// flow they are its sender's counts, at most what its windows allow, one per interval; each sample
/// holds until the next.
pub(crate) fn windows(
    flow: &FlowWindow<'_>,
    from_ns: u64,
    to_ns: u64,
    interval_ns: u64,
    base: Option<BaseRtt>,
) -> Vec<f64> {
    if flow.probed() {
        probed_windows(flow, from_ns, to_ns, interval_ns)
    } else {
        passive_windows(flow, base, from_ns, to_ns)
    }
}

fn probed_windows(flow: &FlowWindow<'_>, from_ns: u64, to_ns: u64, interval_ns: u64) -> Vec<f64> {
    let mss = f64::from(flow.mss_bytes());
    // Only the last earlier sample is carried into the window.
    let first = flow
        .history
        .iter()
        .rposition(|r| r.start_ns <= from_ns && r.probe.is_some());
    let records = flow.history.get(first.unwrap_or(0)..).unwrap_or_default();
    let seen = records.iter().filter_map(|r| {
        let p = r.probe.as_ref()?;
        let receiver = f64::from(p.snd_wnd_last_bytes) / mss;
        let window = f64::from(p.cwnd_last.max(1));
        let allowed = if receiver > 0.0 {
            window.min(receiver)
        } else {
            window
        };
        let in_flight = f64::from(p.inflight_last_bytes) / mss;
        Some((r.start_ns, in_flight.clamp(1.0, allowed.max(1.0))))
    });
    let mut out = Vec::new();
    let mut held: Option<(u64, f64)> = None;
    for (at, w) in seen {
        if let Some((since, value)) = held {
            fill(&mut out, since, at, value, from_ns, interval_ns);
        }
        held = Some((at, w));
    }
    if let Some((since, value)) = held {
        let end = to_ns.min(flow.life.last_ns.max(since + interval_ns));
        fill(&mut out, since, end, value, from_ns, interval_ns);
    }
    out
}

fn fill(out: &mut Vec<f64>, since: u64, until: u64, value: f64, from_ns: u64, interval_ns: u64) {
    let since = since.max(from_ns);
    let until = until.min(since.saturating_add(CARRY_NS));
    if until > since {
        let count = (until - since).div_ceil(interval_ns.max(1));
        out.extend(std::iter::repeat_n(value, count as usize));
    }
}

/// Returns the windows as the switch sees them: packets in flight, without silences. Empty without
/// a base RTT or with sampled packets.
fn passive_windows(
    flow: &FlowWindow<'_>,
    base: Option<BaseRtt>,
    from_ns: u64,
    to_ns: u64,
) -> Vec<f64> {
    let Some(base) = base.filter(|_| flow.sampling <= 1.0) else {
        return Vec::new();
    };
    moments(flow, base.seconds, from_ns, to_ns)
        .iter()
        .filter(|m| m.packets > 0.5)
        .map(|m| m.packets.max(1.0))
        .collect()
}

/// Computes Δ from the windows of each flow; `None` without windows or if BDP/n is not positive.
pub(crate) fn fairness(per_flow: &[Vec<f64>], bdp_pkts: f64, n: f64) -> Option<Fairness> {
    let share = bdp_pkts / n;
    if !(share.is_finite() && share > 0.0) {
        return None;
    }
    let (p01, low, high) = ends(per_flow.iter().flatten(), share)?;
    let means: Vec<f64> = per_flow.iter().filter_map(|w| mean(w)).collect();
    let sum: f64 = means.iter().sum();
    let squares: f64 = means.iter().map(|m| m * m).sum();
    let delta = low.max(high).max(1.0);
    let with_p01 = |p01: f64| (share / p01.max(1.0)).max(high).max(1.0) / delta;
    Some(Fairness {
        delta,
        low,
        high,
        jain: if squares > 0.0 {
            sum * sum / (means.len() as f64 * squares)
        } else {
            1.0
        },
        window_p01_pkts: p01,
        error: error_in_time(per_flow, share).hypot(error_among_flows(per_flow, share)),
        by_a_segment: (with_p01(p01 + 1.0), with_p01(p01 - 1.0)),
        samples: per_flow.iter().map(|w| w.len() as u64).sum(),
    })
}

/// Returns the 1st percentile of the windows, Δ_low and Δ_high.
fn ends<'a>(windows: impl Iterator<Item = &'a f64>, share: f64) -> Option<(f64, f64, f64)> {
    let all: Vec<f64> = windows.copied().collect();
    let (p01, p99) = (quantile(&all, 0.01)?, quantile(&all, 0.99)?);
    Some((p01, share / p01.max(1.0), p99 / share))
}

/// Number of parts of the time that are compared.
const PARTS: usize = 3;

/// Number of groups of flows that are compared, and the least number of flows for that.
const GROUPS: usize = 4;
const FEW_FLOWS: usize = 2 * GROUPS;

/// Relative error of Δ, from how much it differs between parts of the time.
fn error_in_time(per_flow: &[Vec<f64>], share: f64) -> f64 {
    let part = |i: usize| {
        let of = |w: &'_ Vec<f64>| (i * w.len() / PARTS)..((i + 1) * w.len() / PARTS);
        let windows = per_flow
            .iter()
            .flat_map(|w| w.get(of(w)).unwrap_or_default());
        delta_of(windows, share)
    };
    relative_error(&(0..PARTS).filter_map(part).collect::<Vec<_>>())
}

/// Relative error of Δ, from how much it differs between groups of flows: one flow in a hundred
/// with a large window throughout the observed time sets the 99th percentile.
fn error_among_flows(per_flow: &[Vec<f64>], share: f64) -> f64 {
    if per_flow.len() < FEW_FLOWS {
        return 0.0;
    }
    let group = |i: usize| delta_of(per_flow.iter().skip(i).step_by(GROUPS).flatten(), share);
    relative_error(&(0..GROUPS).filter_map(group).collect::<Vec<_>>())
}

fn delta_of<'a>(windows: impl Iterator<Item = &'a f64>, share: f64) -> Option<f64> {
    let (_, low, high) = ends(windows, share)?;
    Some(low.max(high).max(1.0))
}

/// Largest relative error that is reported.
const MOST_ERROR: f64 = 2.0;

fn relative_error(deltas: &[f64]) -> f64 {
    let middle = mean(deltas).unwrap_or(1.0);
    (mean_error(deltas) / middle).min(MOST_ERROR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_windows_are_fair() {
        let f = fairness(&[vec![10.0; 50], vec![10.0; 50]], 20.0, 2.0).unwrap();
        assert_eq!((f.delta, f.low, f.high, f.jain), (1.0, 1.0, 1.0, 1.0));
        assert_eq!(f.error, 0.0);
    }

    #[test]
    fn both_sides_count() {
        let f = fairness(&[vec![2.0; 100], vec![30.0; 100]], 20.0, 2.0).unwrap();
        assert_eq!((f.low, f.high, f.delta), (5.0, 3.0, 5.0));
        assert!((f.jain - 32.0f64.powi(2) / (2.0 * 904.0)).abs() < 1e-12);
        // Windows that change over time have a larger error.
        let changing: Vec<f64> = (0..100).map(|i| 10.0 + f64::from(i / 20)).collect();
        let f = fairness(&[changing], 20.0, 2.0).unwrap();
        assert!(f.error > 0.05 && f.error < 0.3, "{f:?}");
        assert_eq!(fairness(&[], 20.0, 2.0), None);
        assert_eq!(fairness(&[vec![1.0]], 0.0, 2.0), None);
    }
}
