// SPDX-License-Identifier: Apache-2.0
//! Puts the parts of a link's estimate together.

use crate::config::EstimatorConfig;
use crate::types::*;
use crate::utilisation::{self, Totals};
use crate::window::LinkWindow;

pub(crate) fn link(window: &LinkWindow<'_>, _config: &EstimatorConfig) -> LinkEstimate {
    let t = utilisation::totals(window);
    let nothing = Estimate::exact(0.0, Evidence::Passive, 0);
    LinkEstimate {
        node: window.id.node_id,
        port: window.id.port,
        node_name: window.info.node_name.clone(),
        port_name: window.info.port_name.clone(),
        from_ns: window.from_ns,
        to_ns: window.to_ns,
        capacity_bps: window.info.capacity_bps,
        queue_drain_bps: drain_bps(window, &t),
        segment_bytes: 0.0,
        limit_bytes: window
            .intervals
            .last()
            .map(|r| r.limit_bytes)
            .filter(|&b| b > 0),
        utilisation: utilisation::utilisation(window, &t, None),
        loss_rate: if t.arrivals > 0 {
            t.drops as f64 / t.arrivals as f64
        } else {
            0.0
        },
        arrivals: t.arrivals,
        drops: t.drops,
        ce_marked: t.ce_marked,
        delay_ms: utilisation::delay_ms(window),
        occupancy_bytes: utilisation::occupancy_bytes(window),
        reports_lost: t.reports_lost,
        loss_events: 0,
        estimates: Estimates {
            n_b: nothing,
            alpha: Estimate::new(0.55, 0.4, 0.7, Evidence::Assumed, 0),
            mean_loss_burst: None,
            median_loss_burst: None,
            q: None,
            delta: None,
            delta_low: None,
            delta_high: None,
            jain: None,
            window_p01_pkts: None,
            d_mean: None,
            d_max: None,
            s: None,
            condition_fraction: None,
            t_e_ms: None,
            t_mean_ms: None,
            c_e_share: nothing,
            rho: nothing,
            rho_other: nothing,
            regime: RegimeEstimate {
                value: Regime::Unknown,
                evidence: Evidence::Passive,
                why: "no packet was seen".into(),
            },
            saturable: Saturable {
                value: None,
                bounded_share: 0.0,
            },
        },
        classes: ClassCounts::default(),
        flows: Vec::new(),
        caveats: Vec::new(),
    }
}

/// Drain rate of the queue: capacity scaled by queue bytes over wire bytes of
/// the packets seen.
fn drain_bps(window: &LinkWindow<'_>, t: &Totals) -> f64 {
    let capacity = window.info.capacity_bps as f64;
    if t.wire_bytes == 0 {
        return capacity;
    }
    let queue_bytes =
        t.ip_bytes as f64 + t.packets as f64 * f64::from(window.info.queue_overhead_bytes);
    capacity * queue_bytes / t.wire_bytes as f64
}
