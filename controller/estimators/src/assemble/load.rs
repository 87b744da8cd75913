// SPDX-License-Identifier: Apache-2.0
//! Load of the link, the LBP flows' part of it (BSCL §II), and the load that other flows could
//! offer (OI §3.2).

use super::class_error::ClassSum;
use super::flows::Flow;
use crate::stats::{mean_error, quantile, weighted_median};
use crate::types::{Estimate, Evidence, FlowClass};
use crate::utilisation::{Totals, arrived};
use crate::window::LinkWindow;

pub(super) struct Load {
    pub known: bool,
    pub rho: Estimate,
    pub rho_other: Estimate,
    pub c_e_share: Estimate,
    pub bounded_bytes_per_s: f64,
}

/// Median over the LBP flows' bytes of their flow's median window, segments; `per_flow` holds the
/// windows of each flow.
pub(super) fn window_of_most_bytes(lbp: &[&Flow<'_, '_>], per_flow: &[Vec<f64>]) -> Option<f64> {
    let each = lbp.iter().zip(per_flow);
    let each = each.filter_map(|(f, w)| Some((quantile(w, 0.5)?, f.wire_bytes)));
    weighted_median(each.collect())
}

pub(super) fn load(
    window: &LinkWindow<'_>,
    t: &Totals,
    flows: &[Flow<'_, '_>],
    evidence: Evidence,
) -> Load {
    let seconds = window.recorded_s();
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
    let scale = report_scale(t, flows);
    let share = |bytes: f64| bytes * scale / full;
    let rho = offered / full;
    // Includes the flows whose class is in doubt.
    let left = ClassSum::of(flows, Flow::is_lbp, |f| share(f.wire_bytes));
    let came = ClassSum::of(flows, Flow::is_lbp, |f| share(f.offered_bytes));
    let other = (rho - came.value).max(0.0);
    let parts = Parts::of(window, flows, c, scale);
    let around = |value: f64, less: f64, more: f64, most: f64, evidence| {
        let (low, high) = ((value - less).max(0.0), (value + more).min(most));
        Estimate::new(value, low, high, evidence, t.arrivals)
    };
    // Sampling error: the rest of the time may have differed.
    let (e, o) = (parts.error(|p| p.lbp), parts.error(|p| p.offered - p.lbp));
    let r = parts.error(|p| p.offered);
    let c_e = left.value.min(1.0);
    let (less, more) = left.less_and_more();
    let (others_more, others_less) = came.less_and_more();
    Load {
        known: true,
        rho: around(rho, r, r, f64::INFINITY, Evidence::Passive),
        rho_other: around(
            other,
            (IN_BYTES * others_less).hypot(o),
            (IN_BYTES * others_more).hypot(o),
            rho.max(other),
            evidence,
        ),
        c_e_share: Estimate {
            samples: n,
            ..around(
                c_e,
                (IN_BYTES * less).hypot(e),
                (IN_BYTES * more).hypot(e),
                1.0,
                evidence,
            )
        },
        bounded_bytes_per_s,
    }
}

/// Number of parts of the window whose loads are compared (batch means): loads of neighbouring
/// intervals are correlated, the less the longer the parts are.
const PARTS: usize = 4;

/// Part of the effect of doubtful classes that shows in the bytes. A misclassified flow mostly has
/// a rate that says little, and carries less than flows do on average; from the training runs of
/// the calibration.
const IN_BYTES: f64 = 0.4;

/// Load in one part of the time, over capacity.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    offered: f64,
    lbp: f64,
}

struct Parts([Part; PARTS]);

impl Parts {
    fn of(window: &LinkWindow<'_>, flows: &[Flow<'_, '_>], capacity: f64, scale: f64) -> Self {
        let mut parts = [Part::default(); PARTS];
        let span = window.to_ns.saturating_sub(window.from_ns).max(1);
        let full = capacity * span as f64 / 1e9 / PARTS as f64;
        let place = |time_ns: u64| {
            let elapsed = u128::from(time_ns.saturating_sub(window.from_ns));
            (elapsed * PARTS as u128 / u128::from(span)) as usize
        };
        let overhead = f64::from(window.info.wire_overhead_bytes);
        for r in &window.intervals {
            if let Some(part) = parts.get_mut(place(r.start_ns)) {
                let (arrivals, ip_bytes) = arrived(r);
                part.offered += (ip_bytes as f64 + arrivals as f64 * overhead) / full;
            }
        }
        let of_lbp = flows
            .iter()
            .filter(|f| f.estimate.class == FlowClass::Lbp)
            .flat_map(|f| f.window.window().iter().map(|r| (f.window.sampling, r)));
        for (sampling, r) in of_lbp {
            if let Some(part) = parts.get_mut(place(r.start_ns)) {
                part.lbp += r.wire_bytes as f64 * sampling * scale / full;
            }
        }
        Self(parts)
    }

    /// 90 % error of the mean of a quantity over the parts.
    fn error(&self, of: impl Fn(&Part) -> f64) -> f64 {
        mean_error(&self.0.iter().map(of).collect::<Vec<_>>())
    }
}

/// Factor from the flow records, which count only reported packets, to the bytes that the link
/// carried.
fn report_scale(t: &Totals, flows: &[Flow<'_, '_>]) -> f64 {
    let sum: f64 = flows.iter().map(|f| f.wire_bytes).sum();
    if (t.sampled || t.reports_lost > 0) && sum > 0.0 {
        t.wire_bytes as f64 / sum
    } else {
        1.0
    }
}

/// Largest rate of a flow that is limited elsewhere, bytes/s: for window-limited flows the
/// receiver's window per base RTT, for the rest the measured rate.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::EstimatorConfig;
    use crate::store::Store;
    use crate::types::{LinkId, LinkInfo};
    use crate::utilisation::totals;
    use tidemark_proto::telemetry::LinkInterval;

    const INTERVAL_NS: u64 = 10_000_000;

    /// One packet in eight is reported, and every drop; packets drop only in the last part.
    #[test]
    fn the_loads_of_the_parts_average_to_the_load_with_drops_of_sampled_packets() {
        let mut store = Store::default();
        for i in 0..100 {
            let drops = if i < 75 { 0 } else { 8 };
            let record = LinkInterval {
                node_id: 1,
                port: 1,
                start_ns: i * INTERVAL_NS,
                duration_ns: INTERVAL_NS,
                packets: 10,
                arrivals: 10 + drops,
                arrival_ip_bytes: u64::from(10 + drops) * 1500,
                drops,
                drop_ip_bytes: u64::from(drops) * 1500,
                sampling_shift: 3,
                ..LinkInterval::default()
            };
            store.push_link_interval(record, usize::MAX);
        }
        let info = LinkInfo {
            capacity_bps: 100_000_000,
            wire_overhead_bytes: 38,
            ..LinkInfo::default()
        };
        let (config, id) = (EstimatorConfig::default(), LinkId::new(1, 1, 0));
        let window = LinkWindow::gather(&store, &config, id, Some(&info), 0, 100 * INTERVAL_NS);
        let rho = load(&window, &totals(&window), &[], Evidence::Passive).rho;
        assert!(
            (rho.value - 8200.0 * 1538.0 / 12.5e6).abs() < 1e-9,
            "{rho:?}"
        );
        let parts = Parts::of(&window, &[], 12.5e6, 1.0).0.map(|p| p.offered);
        let mean = parts.iter().sum::<f64>() / PARTS as f64;
        assert!((mean - rho.value).abs() < 1e-9, "{parts:?} {rho:?}");
    }
}
