// SPDX-License-Identifier: Apache-2.0
//! Load of the link, the LBP flows' part of it (BSCL §II), and what the others
//! could send (OI §3.2).

use super::flows::Flow;
use crate::types::{Estimate, Evidence, FlowClass};
use crate::utilisation::Totals;
use crate::window::LinkWindow;

pub(super) struct Load {
    pub known: bool,
    pub rho: Estimate,
    pub rho_other: Estimate,
    pub c_e_share: Estimate,
    pub bounded_bytes_per_s: f64,
}

pub(super) fn load(
    window: &LinkWindow<'_>,
    t: &Totals,
    flows: &[Flow<'_, '_>],
    evidence: Evidence,
) -> Load {
    let seconds = window.seconds();
    let bounded_bytes_per_s: f64 = flows
        .iter()
        .filter(|f| f.estimate.class != FlowClass::Lbp)
        .map(|f| largest_rate(f) * f.estimate.active_fraction.min(1.0))
        .sum();
    let Some(c) = window.capacity_bytes_per_s().filter(|_| seconds > 0.0) else {
        let none = Estimate::exact(0.0, evidence, 0);
        return Load {
            known: false,
            rho: none,
            rho_other: none,
            c_e_share: none,
            bounded_bytes_per_s,
        };
    };
    let full = c * seconds;
    let overhead = f64::from(window.info.wire_overhead_bytes);
    let offered = t.arrival_ip_bytes as f64 + t.arrivals as f64 * overhead;
    let n = flows.len() as u64;
    let (mut lbp, mut low, mut high) = (0.0, 0.0, 0.0);
    let mut lbp_offered = 0.0;
    for f in flows {
        let bytes = f.wire_bytes as f64;
        if f.estimate.class == FlowClass::Lbp {
            lbp += bytes;
            lbp_offered += f.offered_bytes;
            low += if f.estimate.p_lbp >= 0.6 { bytes } else { 0.0 };
            high += bytes;
        } else if f.estimate.p_lbp >= 0.4 {
            high += bytes;
        }
    }
    let scale = sampling_scale(t, flows);
    let share = |bytes: f64| (bytes * scale / full).min(1.0);
    let rho = offered / full;
    let other = (rho - lbp_offered * scale / full).max(0.0);
    Load {
        known: true,
        rho: Estimate::exact(rho, Evidence::Passive, t.arrivals),
        rho_other: Estimate::exact(other, evidence, t.arrivals),
        c_e_share: Estimate::new(share(lbp), share(low), share(high), evidence, n),
        bounded_bytes_per_s,
    }
}

/// Flow records count reported packets only: what the link carried over what
/// they add up to.
fn sampling_scale(t: &Totals, flows: &[Flow<'_, '_>]) -> f64 {
    let sum: u64 = flows.iter().map(|f| f.wire_bytes).sum();
    if t.sampled && sum > 0 {
        t.wire_bytes as f64 / sum as f64
    } else {
        1.0
    }
}

/// Largest rate of a flow that is limited elsewhere, bytes/s: its receiver's
/// window per base RTT, else the rate it has.
fn largest_rate(f: &Flow<'_, '_>) -> f64 {
    let rate = f.estimate.rate_bps / 8.0;
    if f.estimate.class != FlowClass::Wl {
        return rate;
    }
    let window_bytes = f
        .window
        .history
        .iter()
        .rev()
        .find_map(|r| r.probe.as_ref())
        .map(|p| f64::from(p.snd_wnd_last_bytes));
    match (window_bytes, f.base_rtt) {
        (Some(w), Some(b)) if b.seconds > 0.0 => rate.max(w / b.seconds),
        _ => rate,
    }
}
