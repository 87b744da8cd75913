// SPDX-License-Identifier: Apache-2.0
//! The definitions applied to the whole trace, computed slowly from the individual packets and
//! samples.

use super::Run;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tidemark_estimators::{FlowClass, LinkEstimate};
use tidemark_pipeline::PostcardRow;

/// Inputs of the definitions.
pub(crate) struct Basis {
    pub from_ns: u64,
    pub to_ns: u64,
    /// The flows regarded as LBP.
    pub lbp: BTreeSet<u64>,
    pub n_b: f64,
    pub t_e_ns: u64,
}

impl Basis {
    /// Takes the inputs of the estimate, so that only the quantity itself is compared.
    pub(crate) fn of(e: &LinkEstimate) -> Self {
        Self {
            from_ns: e.from_ns,
            to_ns: e.to_ns,
            lbp: e
                .flows
                .iter()
                .filter(|f| f.class == FlowClass::Lbp)
                .map(|f| f.flow)
                .collect(),
            n_b: e.estimates.n_b.value,
            t_e_ns: (e.estimates.t_e_ms.unwrap().value * 1e6) as u64,
        }
    }
}

/// Every quantity computed by its definition.
#[derive(Clone)]
pub(crate) struct Reference {
    pub utilisation: f64,
    pub utilisation_p01: f64,
    pub loss_rate: f64,
    pub arrivals: usize,
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
    pub c_e_share: f64,
    pub rho: f64,
    pub rho_other: f64,
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

/// Weighted quantile of (value, weight) pairs.
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

/// Longest time for which a window sample holds.
const CARRY_NS: u64 = 2_000_000_000;

/// Times of the first and last packet of each flow at the link.
fn lives(r: &Run) -> HashMap<u64, (u64, u64)> {
    let mut lives: HashMap<u64, (u64, u64)> = HashMap::new();
    for p in r.rows.iter().filter(|p| p.port == 1) {
        let life = lives.entry(p.flow_id).or_insert((p.ingress_ns, 0));
        life.0 = life.0.min(p.ingress_ns);
        life.1 = life.1.max(p.ingress_ns);
    }
    lives
}

/// (window, duration) of each LBP flow while it sends: segments in flight, at most min(cwnd,
/// receiver's window), from each sample to the next.
fn windows(r: &Run, basis: &Basis) -> Vec<Vec<(f64, f64)>> {
    let (from_ns, to_ns) = (basis.from_ns, basis.to_ns);
    let lives = lives(r);
    let mut samples: BTreeMap<u64, Vec<(u64, f64)>> = BTreeMap::new();
    for p in r.probes.iter().filter(|p| basis.lbp.contains(&p.flow_id)) {
        let allowed = f64::from(p.cwnd).min(f64::from(p.snd_wnd_bytes) / 1448.0);
        let window = allowed.min(f64::from(p.snd_nxt.wrapping_sub(p.snd_una)) / 1448.0);
        samples
            .entry(p.flow_id)
            .or_default()
            .push((p.time_ns, window.max(1.0)));
    }
    samples
        .into_iter()
        .map(|(flow, mut s)| {
            s.sort_by_key(|s| s.0);
            // A flow that has ended has no window, even if it ended recently.
            let to_ns = lives.get(&flow).map_or(to_ns, |life| to_ns.min(life.1));
            let ends: Vec<u64> = s.iter().skip(1).map(|s| s.0).chain([to_ns]).collect();
            s.iter()
                .zip(ends)
                .map(|(&(at, w), end)| {
                    let from = at.max(from_ns);
                    let to = end.min(to_ns).min(from + CARRY_NS);
                    (w, to.saturating_sub(from) as f64)
                })
                .filter(|v| v.1 > 0.0)
                .collect()
        })
        .collect()
}

/// Returns the number of the round trip at a time; each lasts T_e plus the mean delay of packets
/// that left in the interval (or in the previous one, if none left).
fn rounds(r: &Run, from: u64, to: u64, t_e_ns: u64) -> impl Fn(u64) -> u64 {
    let length = r.interval_ns;
    let mut delays = vec![(0u64, 0u64); ((to - from) / length) as usize];
    for p in r.rows.iter().filter(|p| p.port == 1 && !p.dropped) {
        let at = p.egress_ns.checked_sub(from).map(|t| (t / length) as usize);
        if let Some(d) = at.and_then(|at| delays.get_mut(at)) {
            *d = (d.0 + p.egress_ns - p.ingress_ns, d.1 + 1);
        }
    }
    let mut last = 0.0;
    let mut begun = vec![0.0];
    for (sum, n) in delays {
        if n > 0 {
            last = sum as f64 / n as f64;
        }
        begun.push(begun.last().unwrap() + length as f64 / (t_e_ns as f64 + last));
    }
    move |t| {
        let at = (((t - from) / length) as usize).min(begun.len() - 2);
        let part = (t - from - at as u64 * length) as f64 / length as f64;
        (begun[at] + (begun[at + 1] - begun[at]) * part) as u64
    }
}

/// The quantities from the inputs that the estimate uses.
pub(crate) fn reference(r: &Run, e: &LinkEstimate) -> Reference {
    by_definition(r, &Basis::of(e))
}

pub(crate) fn by_definition(r: &Run, basis: &Basis) -> Reference {
    let (from, to) = (basis.from_ns, basis.to_ns);
    let inside = |t: u64| (from..to).contains(&t);
    let on_link = || r.rows.iter().filter(|p| p.port == 1);
    let left: Vec<(u64, f64)> = on_link()
        .filter(|p| !p.dropped && inside(p.egress_ns))
        .map(|p| (p.egress_ns, f64::from(p.ip_bytes)))
        .collect();
    let of_lbp = |p: &&PostcardRow| basis.lbp.contains(&p.flow_id);
    let bytes_of_lbp: f64 = on_link()
        .filter(|p| !p.dropped && inside(p.egress_ns))
        .filter(of_lbp)
        .map(|p| f64::from(p.ip_bytes))
        .sum();
    let came = || on_link().filter(|p| inside(p.ingress_ns));
    let bytes_came: f64 = came().map(|p| f64::from(p.ip_bytes)).sum();
    let others_came: f64 = came()
        .filter(|p| !of_lbp(p))
        .map(|p| f64::from(p.ip_bytes))
        .sum();
    let arrivals = on_link().filter(|p| inside(p.ingress_ns)).count();
    let mut drops: Vec<(u64, u64)> = on_link()
        .filter(|p| p.dropped && inside(p.ingress_ns))
        .map(|p| (p.ingress_ns, p.flow_id))
        .collect();
    drops.sort_unstable();
    let c = r.truth["C_bps"].as_f64().unwrap() / 8.0;
    let (t_e_ns, n_b, lbp) = (basis.t_e_ns, basis.n_b, &basis.lbp);

    // Marks as they are reported: their number per flow and interval.
    let mut marks: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for p in on_link().filter(|p| p.ce_marked && inside(p.egress_ns)) {
        let middle = p.egress_ns / r.interval_ns * r.interval_ns + r.interval_ns / 2;
        *marks.entry((middle, p.flow_id)).or_default() += 1;
    }
    let mut signals: Vec<(u64, u64, u64)> = drops.iter().map(|d| (d.0, d.1, 1)).collect();
    signals.extend(marks.into_iter().map(|((t, flow), n)| (t, flow, n)));
    signals.sort_unstable();
    // Loss events: a signal that follows the previous one by less than T_e joins its event.
    let mut events: Vec<Vec<(u64, u64, u64)>> = Vec::new();
    for &signal in &signals {
        match events.last_mut() {
            Some(event) if signal.0 - event.last().unwrap().0 < t_e_ns => event.push(signal),
            _ => events.push(vec![signal]),
        }
    }
    let loss_bursts: Vec<f64> = events
        .iter()
        .map(|e| e.iter().map(|s| s.2 as f64).sum())
        .collect();
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
    let per_flow = windows(r, basis);
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

    // D(t): distinct LBP flows that saw a drop or a mark, in every RTT with any.
    let rounds = rounds(r, from, to, t_e_ns);
    let mut per_rtt: HashMap<u64, BTreeSet<u64>> = HashMap::new();
    for &(t, f, _) in signals.iter().filter(|d| lbp.contains(&d.1)) {
        per_rtt.entry(rounds(t)).or_default().insert(f);
    }
    let d: Vec<f64> = per_rtt.values().map(|v| v.len() as f64).collect();
    let compensated = n_b * n_b / (delta * bdp_pkts);
    let s: Vec<f64> = d.iter().map(|d| (d - compensated).max(0.0)).collect();
    let holds: Vec<f64> = d
        .iter()
        .map(|&d| f64::from(u8::from(d <= compensated + n_b.sqrt())))
        .collect();

    let full = c * (to - from) as f64 / 1e9;
    // Utilisation over every whole window of 10 RTT.
    let length = 10 * t_e_ns;
    let mut parts = vec![0.0; ((to - from) / length) as usize];
    for &(t, bytes) in &left {
        if let Some(p) = parts.get_mut(((t - from) / length) as usize) {
            *p += bytes / (c * length as f64 / 1e9);
        }
    }
    Reference {
        utilisation: left.iter().map(|l| l.1).sum::<f64>() / full,
        // At most all of it, although a packet that began before counts whole.
        c_e_share: (bytes_of_lbp / full).min(1.0),
        rho: bytes_came / full,
        rho_other: others_came / full,
        utilisation_p01: quantile(&parts, 0.01),
        loss_rate: drops.len() as f64 / arrivals as f64,
        arrivals,
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
