// SPDX-License-Identifier: Apache-2.0
//! Puts the parts of a link's estimate together.

mod bursts;
mod estimates;
mod flows;
mod load;
mod n_b;

use crate::classify::{Classified, LinkContext, classify};
use crate::config::EstimatorConfig;
use crate::rtt::base_rtt;
use crate::types::{ClassCounts, FlowClass, FlowKeyText, LinkEstimate};
use crate::utilisation::{self, Totals};
use crate::window::LinkWindow;

pub(crate) fn link(window: &LinkWindow<'_>, config: &EstimatorConfig) -> LinkEstimate {
    let t = utilisation::totals(window);
    let delay_ms = utilisation::delay_ms(window);
    let context = context(window, &t);
    let classed = flows::all(window, &context, config);
    let parts = estimates::estimates(window, &t, &classed, config);
    let rtt_s = parts.estimates.t_e_ms.map(|t| t.value / 1e3);
    let mut flows: Vec<_> = classed.into_iter().map(|f| f.estimate).collect();
    flows.sort_by(|a, b| b.rate_bps.total_cmp(&a.rate_bps).then(a.flow.cmp(&b.flow)));
    LinkEstimate {
        node: window.id.node_id,
        port: window.id.port,
        node_name: window.info.node_name.clone(),
        port_name: window.info.port_name.clone(),
        from_ns: window.from_ns,
        to_ns: window.to_ns,
        capacity_bps: window.info.capacity_bps,
        queue_drain_bps: drain_bps(window, &t),
        segment_bytes: parts.segment_queue_bytes,
        limit_bytes: window
            .intervals
            .last()
            .map(|r| r.limit_bytes)
            .filter(|&b| b > 0),
        utilisation: utilisation::utilisation(window, &t, rtt_s),
        loss_rate: loss_rate(&t),
        arrivals: t.arrivals,
        drops: t.drops,
        ce_marked: t.ce_marked,
        delay_ms,
        occupancy_bytes: utilisation::occupancy_bytes(window),
        occupancy: utilisation::occupancy(window),
        reports_lost: t.reports_lost,
        loss_events: parts.loss_events,
        overshoot_drops: parts.overshoot_drops,
        classes: counts(flows.iter().map(|f| f.class)),
        caveats: caveats(window, &t, &parts.estimates, context.utilisation),
        estimates: parts.estimates,
        flows,
    }
}

/// Each flow of the window with its class, unsorted.
pub(crate) fn classified(
    window: &LinkWindow<'_>,
    config: &EstimatorConfig,
) -> Vec<(Option<FlowKeyText>, Classified)> {
    let context = context(window, &utilisation::totals(window));
    flows::active(window)
        .map(|f| {
            let c = classify(f, base_rtt(f), &context, config);
            (flows::key(f), c)
        })
        .collect()
}

fn context(window: &LinkWindow<'_>, t: &Totals) -> LinkContext {
    let overall = utilisation::utilisation(window, t, None);
    LinkContext {
        non_empty: overall.non_empty.unwrap_or(0.0),
        utilisation: overall.mean,
        capacity_bytes_per_s: window.capacity_bytes_per_s(),
        loss_rate: loss_rate(t),
        drops: t.drops,
        to_ns: window.to_ns,
    }
}

fn loss_rate(t: &Totals) -> f64 {
    if t.arrivals > 0 {
        t.drops as f64 / t.arrivals as f64
    } else {
        0.0
    }
}

fn counts(classes: impl Iterator<Item = FlowClass>) -> ClassCounts {
    let mut c = ClassCounts::default();
    for class in classes {
        *match class {
            FlowClass::Lbp => &mut c.lbp,
            FlowClass::Rbp => &mut c.rbp,
            FlowClass::Wl => &mut c.wl,
            FlowClass::Short => &mut c.short,
            FlowClass::Other => &mut c.other,
        } += 1;
    }
    c
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

/// Utilisation that the ends of a window explain.
const MOST_UTILISATION: f64 = 1.005;

fn caveats(
    window: &LinkWindow<'_>,
    t: &Totals,
    estimates: &crate::types::Estimates,
    used: Option<f64>,
) -> Vec<String> {
    let mut all = Vec::new();
    if window.intervals.is_empty() {
        all.push("no interval record in this window".to_owned());
    }
    if window.capacity_measured {
        all.push(format!(
            "the capacity of the port is not configured: {:.3} Mbit/s is the rate measured while \
             packets waited",
            window.info.capacity_bps as f64 / 1e6
        ));
    }
    if window.info.capacity_bps == 0 {
        all.push("the capacity of the port is not configured: no utilisation, no load".to_owned());
    }
    if let Some(used) = used.filter(|&u| u > MOST_UTILISATION) {
        all.push(format!(
            "utilisation {:.1} % is more than a link can carry: capacity_bps or \
             wire_overhead_bytes of the port are not what the link has",
            used * 100.0
        ));
    }
    if t.reports_lost > 0 {
        all.push(format!(
            "{} reports were lost on the way to the collector: counts are that much too low",
            t.reports_lost
        ));
    }
    if t.sampled {
        all.push(format!(
            "one packet in {:.0} was reported: drops are counted exactly, the rest is scaled; \
             the utilisation's 1st percentile is unknown, delta needs the senders' windows, classes \
             of unprobed flows rest on drops alone, which every flow has whatever limits it: their \
             N_b counts flows with other limits too",
            window.sampling
        ));
    }
    if let Some(t_e) = estimates.t_e_ms
        && window.seconds() * 1e3 < 50.0 * t_e.value
    {
        all.push(format!(
            "the window of {:.1} s is shorter than 50 T_e",
            window.seconds()
        ));
    }
    if estimates.n_b.value >= 1.0 && estimates.t_e_ms.is_none() {
        all.push(
            "no base RTT of an LBP flow is known, or of too few of them: no T_e, delta or D"
                .to_owned(),
        );
    }
    all
}
