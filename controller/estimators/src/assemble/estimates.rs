// SPDX-License-Identifier: Apache-2.0
//! The link's estimates from its classified flows.

use super::bursts::{alpha, bursts, q};
use super::flows::Flow;
use super::load::load;
use super::n_b::{evidence, n_b};
use crate::config::EstimatorConfig;
use crate::fairness::{Fairness, fairness, windows};
use crate::load::{LoadFacts, regime, saturable};
use crate::loss_events::{loss_events, overshoot_drops};
use crate::rtt::{BaseRtt, t_e_and_mean_ms};
use crate::stats::{mean, quantile};
use crate::synchrony::{Synchronised, distinct_per_rtt, synchronised};
use crate::types::{CongestionControl, Estimate, Estimates, Evidence, FlowClass};
use crate::utilisation::Totals;
use crate::window::LinkWindow;
use rustc_hash::{FxHashMap, FxHashSet};

pub(super) struct Parts {
    pub estimates: Estimates,
    pub segment_queue_bytes: f64,
    pub loss_events: u64,
    pub overshoot_drops: u64,
}

pub(super) fn estimates(
    window: &LinkWindow<'_>,
    t: &Totals,
    flows: &[Flow<'_, '_>],
    config: &EstimatorConfig,
) -> Parts {
    let lbp: Vec<&Flow<'_, '_>> = flows
        .iter()
        .filter(|f| f.estimate.class == FlowClass::Lbp)
        .collect();
    let lbp_ids: FxHashSet<u64> = lbp.iter().map(|f| f.estimate.flow).collect();
    let evidence = evidence(&lbp, flows);
    let n_b = n_b(flows, evidence);
    let base: Vec<BaseRtt> = lbp.iter().filter_map(|f| f.base_rtt).collect();
    let rtts = t_e_and_mean_ms(&base, lbp.len());
    let t_e_s = rtts.map(|(t_e, _)| t_e.value / 1e3);
    let drops: Vec<(u64, u64)> = window
        .drops
        .iter()
        .map(|d| (d.time_ns, d.flow_id))
        .collect();
    let gap_ns = t_e_s.map_or(config.default_rtt_ms * 1e6, |s| s * 1e9) as u64;
    let events = loss_events(&drops, gap_ns, &lbp_ids);
    let burst = bursts(&events);
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
    let sync = fair.and_then(|f| {
        let bdp = bdp_pkts?;
        let d = distinct_per_rtt(&drops, window.from_ns, gap_ns, &lbp_ids);
        let n = n_b.value;
        synchronised(&d, n * n / (f.delta * bdp), n.sqrt())
    });
    let load = load(window, t, flows, evidence);
    let all_windows: Vec<f64> = per_flow.iter().flatten().copied().collect();
    let regime = regime(&LoadFacts {
        arrivals: t.arrivals,
        n_b: n_b.value,
        rho: load.known.then_some(load.rho.value),
        rho_other: load.known.then_some(load.rho_other.value),
        loss_rate: if t.arrivals > 0 {
            t.drops as f64 / t.arrivals as f64
        } else {
            0.0
        },
        lbp_window_pkts: quantile(&all_windows, 0.5),
        evidence,
    });
    Parts {
        loss_events: events.len() as u64,
        overshoot_drops: overshoot_drops(&drops, &windows_at_once(window, &lbp, &per_flow)),
        segment_queue_bytes: if ip_bytes > 0.0 {
            ip_bytes + f64::from(window.info.queue_overhead_bytes)
        } else {
            0.0
        },
        estimates: Estimates {
            n_b,
            alpha: alpha(burst.as_ref(), n_b),
            mean_loss_burst: burst.as_ref().map(|b| b.mean),
            median_loss_burst: burst.as_ref().map(|b| b.median),
            q: q(&events, n_b.value, evidence),
            delta: fair.map(|f| delta(&f, n_b, evidence)),
            delta_low: fair.map(|f| f.low),
            delta_high: fair.map(|f| f.high),
            jain: fair.map(|f| f.jain),
            window_p01_pkts: fair.map(|f| f.window_p01_pkts),
            d_mean: sync.map(|s| {
                Estimate::new(
                    s.d_mean,
                    s.d_mean - s.d_error,
                    s.d_mean + s.d_error,
                    Evidence::Passive,
                    s.rtts,
                )
            }),
            d_max: sync.map(|s| Estimate::exact(s.d_max, Evidence::Passive, s.rtts)),
            s: sync.map(s_estimate),
            condition_fraction: sync
                .map(|s| Estimate::exact(s.condition_fraction, Evidence::Passive, s.rtts)),
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

/// Longest round trip and mean window of each LBP flow of which both are known,
/// but for those that follow a model of the path: they lose much at once later,
/// too.
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
            let base_ns = (f.base_rtt?.seconds * 1e9) as u64;
            Some((f.estimate.flow, (base_ns + delay_ns, mean(w)?)))
        })
        .collect()
}

fn s_estimate(s: Synchronised) -> Estimate {
    Estimate::new(s.s_mean, s.s_mean, s.s_max, Evidence::Passive, s.rtts)
}

/// Δ; its interval is what the uncertainty of n does to BDP/n.
fn delta(f: &Fairness, n_b: Estimate, evidence: Evidence) -> Estimate {
    let at = |n: f64| {
        let factor = n / n_b.value;
        (f.low / factor).max(f.high * factor).max(1.0)
    };
    let (a, b) = (at(n_b.low.max(1.0)), at(n_b.high.max(1.0)));
    Estimate::new(f.delta, a.min(b), a.max(b), evidence, f.samples)
}

/// IP length of a full segment of the LBP flows: the largest among packets of
/// the flow that carries most, from its intervals' means.
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
