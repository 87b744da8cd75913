// SPDX-License-Identifier: Apache-2.0
//! What the definitions give on the whole trace, computed slowly from the
//! packets and samples themselves.

use super::Run;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tidemark_estimators::{FlowClass, LinkEstimate};

/// Every quantity by its definition; the flows taken for LBP, N_b and Tₑ are
/// those of the estimate, so that only the quantity itself is compared.
pub(crate) struct Reference {
    pub utilisation: f64,
    pub utilisation_p01: f64,
    pub loss_rate: f64,
    pub drops: usize,
    pub loss_bursts: Vec<f64>,
    pub alpha: Option<f64>,
    pub q: Option<f64>,
    pub delta_low: f64,
    pub delta_high: f64,
    pub jain: f64,
    pub d: Vec<f64>,
    pub s_mean: Option<f64>,
    pub condition_fraction: Option<f64>,
}

pub(crate) fn mean(v: &[f64]) -> Option<f64> {
    (!v.is_empty()).then(|| v.iter().sum::<f64>() / v.len() as f64)
}

pub(crate) fn quantile(values: &[f64], q: f64) -> f64 {
    let mut v = values.to_vec();
    v.sort_by(f64::total_cmp);
    let at = q * (v.len() - 1) as f64;
    let (i, part) = (at as usize, at - at.floor());
    v[i] + (v[(i + 1).min(v.len() - 1)] - v[i]) * part
}

/// Quantile of (value, weight).
fn weighted(values: &mut [(f64, f64)], q: f64) -> f64 {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = values.iter().map(|v| v.1).sum();
    let mut sum = 0.0;
    for v in values.iter() {
        sum += v.1;
        if sum >= q * total {
            return v.0;
        }
    }
    values.last().unwrap().0
}

/// A window seen longer ago than this stands for nothing.
const CARRY_NS: u64 = 2_000_000_000;

/// (window, how long) of each LBP flow: min(cwnd, receiver's window), from each
/// sample to the next.
fn windows(r: &Run, e: &LinkEstimate, lbp: &BTreeSet<u64>) -> Vec<Vec<(f64, f64)>> {
    let mut samples: BTreeMap<u64, Vec<(u64, f64)>> = BTreeMap::new();
    for p in r.probes.iter().filter(|p| lbp.contains(&p.flow_id)) {
        let window = f64::from(p.cwnd).min(f64::from(p.snd_wnd_bytes) / 1448.0);
        samples
            .entry(p.flow_id)
            .or_default()
            .push((p.time_ns, window.max(1.0)));
    }
    samples
        .into_values()
        .map(|mut s| {
            s.sort_by_key(|s| s.0);
            let ends: Vec<u64> = s.iter().skip(1).map(|s| s.0).chain([e.to_ns]).collect();
            s.iter()
                .zip(ends)
                .map(|(&(at, w), end)| {
                    let from = at.max(e.from_ns);
                    let to = end.min(e.to_ns).min(from + CARRY_NS);
                    (w, to.saturating_sub(from) as f64)
                })
                .filter(|v| v.1 > 0.0)
                .collect()
        })
        .collect()
}

pub(crate) fn reference(r: &Run, e: &LinkEstimate) -> Reference {
    let (from, to) = (e.from_ns, e.to_ns);
    let inside = |t: u64| (from..to).contains(&t);
    let on_link = || r.rows.iter().filter(|p| p.port == 1);
    let left: Vec<(u64, f64)> = on_link()
        .filter(|p| !p.dropped && inside(p.egress_ns))
        .map(|p| (p.egress_ns, f64::from(p.ip_bytes)))
        .collect();
    let arrivals = on_link().filter(|p| inside(p.ingress_ns)).count();
    let mut drops: Vec<(u64, u64)> = on_link()
        .filter(|p| p.dropped && inside(p.ingress_ns))
        .map(|p| (p.ingress_ns, p.flow_id))
        .collect();
    drops.sort_unstable();
    let c = r.truth["C_bps"].as_f64().unwrap() / 8.0;
    let t_e_ns = (e.estimates.t_e_ms.unwrap().value * 1e6) as u64;
    let n_b = e.estimates.n_b.value;
    let lbp: BTreeSet<u64> = e
        .flows
        .iter()
        .filter(|f| f.class == FlowClass::Lbp)
        .map(|f| f.flow)
        .collect();

    // Loss events: every drop that follows another by less than T_e joins it.
    let mut events: Vec<Vec<(u64, u64)>> = Vec::new();
    for &drop in &drops {
        match events.last_mut() {
            Some(event) if drop.0 - event.last().unwrap().0 < t_e_ns => event.push(drop),
            _ => events.push(vec![drop]),
        }
    }
    let loss_bursts: Vec<f64> = events.iter().map(|e| e.len() as f64).collect();
    let fractions: Vec<f64> = events
        .iter()
        .map(|event| {
            let flows: BTreeSet<u64> = event
                .iter()
                .map(|d| d.1)
                .filter(|f| lbp.contains(f))
                .collect();
            (flows.len() as f64 / n_b).min(1.0)
        })
        .collect();

    let segment = 1500.0;
    let bdp_pkts = c * t_e_ns as f64 / 1e9 / segment;
    let share = bdp_pkts / n_b;
    let per_flow = windows(r, e, &lbp);
    let mut all: Vec<(f64, f64)> = per_flow.iter().flatten().copied().collect();
    let (delta_low, delta_high, jain) = if all.is_empty() {
        (f64::NAN, f64::NAN, f64::NAN)
    } else {
        let means: Vec<f64> = per_flow
            .iter()
            .filter(|w| !w.is_empty())
            .map(|w| w.iter().map(|v| v.0 * v.1).sum::<f64>() / w.iter().map(|v| v.1).sum::<f64>())
            .collect();
        let sum: f64 = means.iter().sum();
        (
            share / weighted(&mut all, 0.01),
            weighted(&mut all, 0.99) / share,
            sum * sum / (means.len() as f64 * means.iter().map(|m| m * m).sum::<f64>()),
        )
    };
    let delta = delta_low.max(delta_high).max(1.0);

    // D(t): distinct LBP flows that saw a drop, in every RTT that had one.
    let mut per_rtt: HashMap<u64, BTreeSet<u64>> = HashMap::new();
    for &(t, f) in drops.iter().filter(|d| lbp.contains(&d.1)) {
        per_rtt.entry((t - from) / t_e_ns).or_default().insert(f);
    }
    let d: Vec<f64> = per_rtt.values().map(|v| v.len() as f64).collect();
    let compensated = n_b * n_b / (delta * bdp_pkts);
    let s: Vec<f64> = d.iter().map(|d| (d - compensated).max(0.0)).collect();
    let holds: Vec<f64> = d
        .iter()
        .map(|&d| f64::from(u8::from(d <= compensated + n_b.sqrt())))
        .collect();

    // Utilisation over every whole window of 10 RTT.
    let length = 10 * t_e_ns;
    let mut parts = vec![0.0; ((to - from) / length) as usize];
    for &(t, bytes) in &left {
        if let Some(p) = parts.get_mut(((t - from) / length) as usize) {
            *p += bytes / (c * length as f64 / 1e9);
        }
    }
    Reference {
        utilisation: left.iter().map(|l| l.1).sum::<f64>() / (c * (to - from) as f64 / 1e9),
        utilisation_p01: quantile(&parts, 0.01),
        loss_rate: drops.len() as f64 / arrivals as f64,
        drops: drops.len(),
        alpha: mean(&loss_bursts).map(|l| l / n_b),
        loss_bursts,
        q: mean(&fractions),
        delta_low,
        delta_high,
        jain,
        s_mean: mean(&s),
        condition_fraction: mean(&holds),
        d,
    }
}
