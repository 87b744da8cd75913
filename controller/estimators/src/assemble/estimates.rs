// SPDX-License-Identifier: Apache-2.0
//! The link's estimates from its classified flows.

use super::activity::Activity;
use super::alpha::alpha;
use super::bursts::{Events, bursts, q};
use super::class_error::class_mean_ends;
use super::flows::Flow;
use super::load::{load, window_of_most_bytes};
use super::n_b::{evidence, lbp, n_b};
use super::synchrony::{Facts, synchrony};
use crate::classify::LinkContext;
use crate::config::EstimatorConfig;
use crate::fairness::{Fairness, fairness, windows};
use crate::load::{LoadFacts, regime, saturable};
use crate::loss_events::{merged, overshoot_drops};
use crate::mean_rtt::{ClassDoubt, t_e_and_mean_ms};
use crate::rtt::BaseRtt;
use crate::stats::mean;
use crate::synchrony::{RoundTrips, lost_per_rtt};
use crate::types::{CongestionControl, Estimate, Estimates, Evidence};
use crate::utilisation::Totals;
use crate::window::LinkWindow;
use rustc_hash::{FxHashMap, FxHashSet};

pub(super) struct Parts {
    pub estimates: Estimates,
    pub segment_queue_bytes: f64,
    pub loss_events: u64,
    /// Loss events follow one another so closely that they cannot be told apart.
    pub events_merged: bool,
    pub overshoot_drops: u64,
    /// LBP flows reduce in proportion to their share of marked packets.
    pub by_share_of_marks: bool,
}

pub(super) fn estimates(
    window: &LinkWindow<'_>,
    t: &Totals,
    flows: &[Flow<'_, '_>],
    context: &LinkContext,
    config: &EstimatorConfig,
) -> Parts {
    let lbp = lbp(flows);
    let lbp_ids: FxHashSet<u64> = lbp.iter().map(|f| f.estimate.flow).collect();
    let evidence = evidence(&lbp, flows);
    let n_b = n_b(flows, evidence, context);
    let base: Vec<(BaseRtt, f64)> = lbp
        .iter()
        .filter_map(|f| Some((f.base_rtt?, f.weight())))
        .collect();
    let rtts = t_e_and_mean_ms(
        &base,
        lbp.iter().map(|f| f.weight()).sum(),
        class_doubt(flows),
    );
    let t_e_s = rtts.map(|(t_e, _)| t_e.value / 1e3);
    let drops: Vec<(u64, u64)> = window
        .drops
        .iter()
        .map(|d| (d.time_ns, d.flow_id))
        .collect();
    let gap_ns = t_e_s.map_or(config.default_rtt_ms * 1e6, |s| s * 1e9) as u64;
    let signals = window.signals();
    let ends_ns = rtts.map_or([gap_ns; 2], |(t, _)| {
        [t.low, t.high].map(|ms| (ms * 1e6) as u64)
    });
    let events = Events::of(&signals, (gap_ns, ends_ns), &lbp_ids);
    let delay_ns = mean_delay_ns(window);
    let events_merged = merged(&events.by_t_e, gap_ns + delay_ns);
    let burst = bursts(&events);
    let lost_per_rtt = || {
        let rounds = RoundTrips::of(&window.intervals, gap_ns);
        lost_per_rtt(&signals, &rounds)
    };
    let ip_bytes = f64::from(segment_ip_bytes(&lbp, flows));
    let wire_segment = ip_bytes + f64::from(window.info.wire_overhead_bytes);
    let bdp_pkts = match (window.capacity_bytes_per_s(), t_e_s) {
        (Some(c), Some(t)) if ip_bytes > 0.0 => Some(c * t / wire_segment),
        _ => None,
    };
    let per_flow: Vec<Vec<f64>> = lbp
        .iter()
        .map(|f| {
            windows(
                f.window,
                window.from_ns,
                window.to_ns,
                window.interval_ns(),
                f.base_rtt,
            )
        })
        .collect();
    let fair = bdp_pkts
        .filter(|_| n_b.value >= 1.0)
        .and_then(|bdp| fairness(&per_flow, bdp, n_b.value));
    let delta = fair.map(|f| delta(&f, n_b, rtts.map(|r| r.0), evidence));
    let sync = delta.and_then(|delta| {
        synchrony(&Facts {
            window,
            flows,
            signals: &signals,
            lbp: &lbp_ids,
            n: n_b.value,
            delta,
            bdp_pkts: bdp_pkts?,
            t_e: rtts?.0,
            t_e_ns: gap_ns,
        })
    });
    let load = load(window, t, flows, evidence);
    let regime = regime(&LoadFacts {
        arrivals: t.arrivals,
        n_b: n_b.value,
        rho: load.known.then_some(load.rho.value),
        rho_other: load.known.then_some(load.rho_other.value),
        // A mark for a sender at its smallest window has no more effect than a drop.
        loss_rate: (t.drops + t.ce_marked) as f64 / t.arrivals.max(1) as f64,
        lbp_window_pkts: window_of_most_bytes(&lbp, &per_flow),
        evidence,
    });
    Parts {
        loss_events: events.by_t_e.len() as u64,
        events_merged,
        by_share_of_marks: (lbp.iter())
            .any(|f| f.estimate.congestion_control == CongestionControl::Dctcp),
        overshoot_drops: overshoot_drops(&drops, &windows_at_once(window, &lbp, &per_flow)),
        segment_queue_bytes: if ip_bytes > 0.0 {
            ip_bytes + f64::from(window.info.queue_overhead_bytes)
        } else {
            0.0
        },
        estimates: Estimates {
            n_b,
            alpha: alpha(
                burst.as_ref(),
                n_b,
                events_merged.then(lost_per_rtt).flatten(),
            ),
            mean_loss_burst: burst.as_ref().map(|b| b.mean),
            median_loss_burst: burst.as_ref().map(|b| b.median),
            q: q(&events, n_b.value, &Activity::of(&lbp), evidence),
            delta,
            delta_low: fair.map(|f| f.low),
            delta_high: fair.map(|f| f.high),
            jain: fair.map(|f| f.jain),
            window_p01_pkts: fair.map(|f| f.window_p01_pkts),
            d_mean: sync.map(|s| s.d_mean),
            // At most all LBP flows can coincide.
            d_max: sync
                .map(|s| Estimate::new(s.d_max, s.d_max, n_b.high, Evidence::Passive, s.rtts)),
            s: sync.map(|s| s.s),
            condition_fraction: sync.map(|s| s.condition_fraction),
            t_e_ms: rtts.map(|r| r.0),
            t_mean_ms: rtts.map(|r| r.1),
            c_e_share: load.c_e_share,
            rho: load.rho,
            rho_other: load.rho_other,
            regime,
            saturable: saturable(
                n_b.value,
                load.bounded_bytes_per_s,
                window.capacity_bytes_per_s(),
            ),
        },
    }
}

/// Effect of doubtful classes on T_e and T̄.
fn class_doubt(flows: &[Flow<'_, '_>]) -> ClassDoubt {
    let seconds = |f: &Flow<'_, '_>| Some(f.base_rtt?.seconds).filter(|&s| s > 0.0);
    let (least, most) = class_mean_ends(flows, Flow::is_lbp, |f| Some(1.0 / seconds(f)?));
    ClassDoubt {
        t_e: (1.0 / most, 1.0 / least),
        t_mean: class_mean_ends(flows, Flow::is_lbp, seconds),
    }
}

/// Longest round trip and mean window of each LBP flow for which both are known. Flows that follow
/// a model of the path are left out: they also lose many packets at once later.
fn windows_at_once(
    window: &LinkWindow<'_>,
    lbp: &[&Flow<'_, '_>],
    per_flow: &[Vec<f64>],
) -> FxHashMap<u64, (u64, f64)> {
    let delay_ns = window
        .intervals
        .iter()
        .map(|r| r.delay_max_ns)
        .max()
        .unwrap_or(0);
    lbp.iter()
        .zip(per_flow)
        .filter(|(f, _)| f.estimate.congestion_control != CongestionControl::Bbr)
        .filter_map(|(f, w)| {
            let base = f.base_rtt?;
            let base_ns = (base.seconds * 1e9) as u64;
            Some((f.estimate.flow, (base_ns + delay_ns, mean(w)?)))
        })
        .collect()
}

/// Ratio of Δ by the packets in flight at the sender, which include losses not yet detected and
/// pauses, to Δ by the packets that pass the switch; chosen so that the range contains the truth in
/// nine of ten windows of the runs of `make truth`.
const UNPROBED_DELTA: f64 = 1.33;

/// Estimates Δ. Its range covers the uncertainty of n and Tₑ in BDP/n, and that of the extreme
/// windows because only part of the time was seen. Windows are whole numbers of segments, and
/// small: the 1st percentile is uncertain by one segment.
fn delta(f: &Fairness, n_b: Estimate, t_e: Option<Estimate>, evidence: Evidence) -> Estimate {
    // Δ if BDP/n is `share` times its estimate.
    let at = |share: f64| (f.low * share).max(f.high / share).max(1.0);
    let n = n_b.value / n_b.low.max(1.0).min(n_b.value);
    let fewer = n_b.value / n_b.high.max(n_b.value);
    let (shorter, longer) = t_e.map_or((1.0, 1.0), |t| (t.low / t.value, t.high / t.value));
    // The extremes need not be at the ends: Δ is least at the share for which both sides are equal.
    let ends = [at(fewer * shorter), at(n * longer)];
    let balanced = (f.high / f.low).sqrt().clamp(fewer * shorter, n * longer);
    let least = ends.into_iter().fold(at(balanced), f64::min) / f.delta;
    let most = ends.into_iter().fold(f.delta, f64::max) / f.delta;
    let by_switch = if evidence == Evidence::Passive {
        UNPROBED_DELTA
    } else {
        1.0
    };
    // Independent factors combine in quadrature.
    let apart = |factors: [f64; 4]| {
        let squares = factors.map(|x| x.ln().powi(2));
        squares.iter().sum::<f64>().sqrt().exp()
    };
    let (larger, smaller) = f.by_a_segment;
    let low = f.delta / apart([least, 1.0 + f.error, larger, by_switch]);
    let high = f.delta * apart([most, 1.0 + f.error, smaller, by_switch]);
    Estimate::new(f.delta, low.max(1.0), high, evidence, f.samples)
}

/// Mean queueing delay of the packets that left.
fn mean_delay_ns(window: &LinkWindow<'_>) -> u64 {
    let (sum, packets) = window.intervals.iter().fold((0u64, 0u64), |(s, n), r| {
        (s.saturating_add(r.delay_sum_ns), n + u64::from(r.packets))
    });
    sum / packets.max(1)
}

/// IP length of a full segment of the LBP flows: the largest mean packet length per interval of the
/// flow that carries most bytes.
fn segment_ip_bytes(lbp: &[&Flow<'_, '_>], flows: &[Flow<'_, '_>]) -> u32 {
    let largest = |f: &Flow<'_, '_>| {
        f.window
            .window()
            .iter()
            .filter(|r| r.packets > 0)
            .map(|r| r.ip_bytes.div_ceil(u64::from(r.packets)) as u32)
            .max()
            .unwrap_or(0)
    };
    let of_lbp = lbp.iter().map(|f| largest(f)).max().unwrap_or(0);
    if of_lbp > 0 {
        of_lbp
    } else {
        flows.iter().map(largest).max().unwrap_or(0)
    }
}
