// SPDX-License-Identifier: Apache-2.0
//! Assembles the estimate of a link from its parts.

mod activity;
mod alpha;
mod bursts;
mod class_error;
mod classed;
mod estimates;
mod flows;
mod load;
mod n_b;
mod pauses;
mod standing;
mod synchrony;

use crate::classify::{Classified, LinkContext};
use crate::config::EstimatorConfig;
use crate::reductions::rtt_ns;
use crate::signals::marked_rounds;
use crate::types::{ClassCounts, Estimate, FlowClass, FlowKeyText, LinkEstimate, foremost};
use crate::utilisation::{self, Totals};
use crate::window::LinkWindow;
use classed::Known;
use estimates::Parts;
use flows::Flow;

pub(crate) fn link(window: &LinkWindow<'_>, config: &EstimatorConfig) -> LinkEstimate {
    link_and_known(window, config).0
}

/// Returns the estimate, and N_b of the window's last part, from `recent_ns` on. The latter costs
/// little: it uses the facts about the flows from the whole window, and their history begins where
/// that of the whole does. In [`n_b`] of that part alone the history begins later.
pub(crate) fn link_and_recent_n_b(
    mut window: LinkWindow<'_>,
    recent_ns: u64,
    config: &EstimatorConfig,
) -> (LinkEstimate, Estimate) {
    let (estimate, known) = link_and_known(&window, config);
    window.narrow(recent_ns);
    let context = context(&window, &utilisation::totals(&window), config);
    let recent = {
        let flows = flows::all(&window, known, &context, config);
        n_b::of(&standing::heed(flows, &context), &context)
    };
    (estimate, recent)
}

fn link_and_known(window: &LinkWindow<'_>, config: &EstimatorConfig) -> (LinkEstimate, Vec<Known>) {
    let t = utilisation::totals(window);
    let delay_ms = utilisation::delay_ms(window);
    let context = context(window, &t, config);
    let classed = standing::heed(flows::all(window, Vec::new(), &context, config), &context);
    let parts = estimates::estimates(window, &t, &classed, &context, config);
    let rtt_s = parts.estimates.t_e_ms.map(|t| t.value / 1e3);
    let (flows, known): (Vec<_>, Vec<_>) = classed.into_iter().map(Flow::known).unzip();
    let classes = counts(flows.iter().map(|f| f.class));
    let flows = foremost(flows, config.max_listed_flows);
    let estimate = LinkEstimate {
        node: window.id.node_id,
        port: window.id.port,
        queue: window.id.queue,
        node_name: window.info.node_name.clone(),
        port_name: window.info.port_name.clone(),
        from_ns: window.from_ns,
        to_ns: window.to_ns,
        capacity_bps: window.info.capacity_bps,
        shares_port: !window.shared_with.is_empty(),
        two_clocks: window.two_clocks,
        queue_drain_bps: drain_bps(window, &t),
        segment_bytes: parts.segment_queue_bytes,
        limit_bytes: window
            .intervals
            .last()
            .map(|r| r.limit_bytes)
            .filter(|&b| b > 0),
        utilisation: utilisation::utilisation(window, &t, rtt_s),
        loss_rate: loss_rate(&t).filter(|_| !window.drops_untold),
        arrivals: t.arrivals,
        drops: (!window.drops_untold).then_some(t.drops),
        ce_marked: t.ce_marked,
        delay_ms,
        occupancy_bytes: utilisation::occupancy_bytes(window),
        occupancy: utilisation::occupancy(window),
        batches: utilisation::batches(window),
        reports_lost: t.reports_lost,
        unrecorded_s: window.unrecorded_s(),
        loss_events: parts.loss_events,
        overshoot_drops: parts.overshoot_drops,
        classes,
        caveats: caveats(window, &t, &parts, context.utilisation),
        estimates: parts.estimates,
        flows,
    };
    (estimate, known)
}

/// Estimates N_b alone, equal to that of [`link`]; costs only the classification of the flows.
pub(crate) fn n_b(window: &LinkWindow<'_>, config: &EstimatorConfig) -> Estimate {
    let context = context(window, &utilisation::totals(window), config);
    let flows = standing::heed(flows::all(window, Vec::new(), &context, config), &context);
    n_b::of(&flows, &context)
}

/// Each flow of the window with its class, unsorted.
pub(crate) fn classified(
    window: &LinkWindow<'_>,
    config: &EstimatorConfig,
) -> Vec<(Option<FlowKeyText>, Classified)> {
    let context = context(window, &utilisation::totals(window), config);
    classed::classed(window, Vec::new(), &context, config)
        .into_iter()
        .map(|c| (flows::key(c.flow), c.class))
        .collect()
}

fn context(window: &LinkWindow<'_>, t: &Totals, config: &EstimatorConfig) -> LinkContext {
    let signals = t.drops + marked_rounds(&window.marks, |id| flow_rtt_ns(window, id, config));
    let overall = utilisation::utilisation(window, t, None);
    LinkContext {
        non_empty: overall.non_empty.unwrap_or(0.0),
        utilisation: overall.mean,
        capacity_bytes_per_s: window.capacity_bytes_per_s(),
        drop_rate: loss_rate(t).unwrap_or(0.0),
        signals,
        signal_rate: signals as f64 / t.arrivals.max(1) as f64,
        to_ns: window.to_ns,
        unreported: unreported_marks(window),
        missing: missing(window),
    }
}

/// Part of the marks that is not reported, if the switch program samples marked packets.
fn unreported_marks(window: &LinkWindow<'_>) -> f64 {
    let all_reported = || window.intervals.iter().any(|r| r.out_of_sample > 0);
    if window.marks.is_empty() || all_reported() {
        0.0
    } else {
        1.0 - 1.0 / window.sampling.max(1.0)
    }
}

/// Ends of the intervals with lost reports, and the fraction of reports that each lost.
fn missing(window: &LinkWindow<'_>) -> Vec<(u64, f64)> {
    let lossy = window.intervals.iter().filter(|r| r.reports_lost > 0);
    lossy
        .map(|r| {
            let lost = f64::from(r.reports_lost);
            let end_ns = r.start_ns.saturating_add(r.duration_ns);
            (
                end_ns,
                lost / (lost + f64::from(utilisation::reported(r) + r.drops)),
            )
        })
        .collect()
}

/// Round trip of a flow with CE marks, from its last record.
fn flow_rtt_ns(window: &LinkWindow<'_>, id: u64, config: &EstimatorConfig) -> u64 {
    let flow = window.flows.binary_search_by_key(&id, |f| f.id).ok();
    flow.and_then(|i| window.flows.get(i))
        .and_then(|f| Some(rtt_ns(f, None, f.history.last()?, config)))
        .unwrap_or((config.default_rtt_ms * 1e6) as u64)
}

fn loss_rate(t: &Totals) -> Option<f64> {
    (t.arrivals > 0).then(|| t.drops as f64 / t.arrivals as f64)
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

/// Caveat that the link's capacity is not that of the port.
fn shared(window: &LinkWindow<'_>) -> String {
    let queues: Vec<String> = window.shared_with.iter().map(u32::to_string).collect();
    let queues = match queues.as_slice() {
        [one] => format!("queue {one}"),
        several => format!("queues {}", several.join(", ")),
    };
    let served = match window.info.capacity_bps {
        0 => "the rate at which it is served is not known, because packets waited too rarely: no \
              utilisation, no load"
            .to_owned(),
        bps => format!(
            "its capacity here is the {:.3} Mbit/s at which it was served while packets waited, \
             and changes with the load of the others",
            bps as f64 / 1e6
        ),
    };
    format!("the queue shares its port with {queues}: {served}")
}

/// Largest utilisation that the window's ends can explain.
const MOST_UTILISATION: f64 = 1.005;

fn caveats(window: &LinkWindow<'_>, t: &Totals, parts: &Parts, used: Option<f64>) -> Vec<String> {
    let estimates = &parts.estimates;
    let mut all = Vec::new();
    if window.intervals.is_empty() {
        all.push("no interval record in this window".to_owned());
    }
    if !window.shared_with.is_empty() {
        all.push(shared(window));
    } else if window.capacity_measured {
        all.push(format!(
            "the capacity of the port is not configured: {:.3} Mbit/s is the rate measured while \
             packets waited",
            window.info.capacity_bps as f64 / 1e6
        ));
    }
    if window.info.capacity_bps == 0 && window.shared_with.is_empty() {
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
            "{} reports were lost on the way to the collector: utilisation, load and drops count \
             them as packets like the others",
            t.reports_lost
        ));
    }
    if window.drops_untold {
        all.push(
            "loss is not known: this node is seen only in the metadata of packets (INT-MD), and a \
             dropped packet delivers none"
                .to_owned(),
        );
    }
    if window.two_clocks {
        all.push(
            "two clocks report as this node: two exporters have its id, or someone sends a \
             recording. Nothing here is certain until one of them is silent, or the node has a key"
                .to_owned(),
        );
    }
    let unrecorded_s = window.unrecorded_s();
    if unrecorded_s > 0.0 {
        all.push(format!(
            "the collector sent no record for {unrecorded_s:.2} s of the {:.2} s (the connection \
             was cut, or updates were missed): utilisation and load are those of the rest",
            window.length_s()
        ));
    }
    if window.flows_evicted {
        all.push(
            "more flows than memory has room for: records of short flows are missing, so that \
             their number and their load are too small"
                .to_owned(),
        );
    }
    if t.ce_marked > 0 {
        all.push(format!(
            "{} packets were marked CE here: marks are loss signals like drops, for classes, loss \
             events, alpha, q, D and s. The limit here is the marking threshold: marked \
             packets are admitted, so the queue exceeds it, and the delay predicted for it is that \
             of drop-tail",
            t.ce_marked
        ));
    }
    if parts.by_share_of_marks {
        all.push(
            "flows reduce by the share of their marks (DCTCP): alpha, q, D and s count the round \
             trips with marks, none of which halves a window"
                .to_owned(),
        );
    }
    if t.sampled {
        all.push(format!(
            "one packet in {:.0} was reported: drops are counted exactly, the rest is scaled; \
             the utilisation's 1st percentile is unknown, delta needs the senders' windows, classes \
             of unprobed flows rest on drops alone, which every flow has whatever limits it: N_b \
             then also counts flows with other limits",
            window.sampling
        ));
    }
    if parts.events_merged {
        all.push(
            "losses follow one another so closely that loss events cannot be told apart: alpha is \
             the literature's if the losses per round trip allow it, and its range extends from \
             these to the merged events"
                .to_owned(),
        );
    }
    if let Some(t_e) = estimates.t_e_ms
        && window.recorded_s() * 1e3 < 50.0 * t_e.value
    {
        all.push(format!(
            "the window of {:.1} s is shorter than 50 T_e",
            window.recorded_s()
        ));
    }
    if estimates.n_b.value >= 1.0 && estimates.t_e_ms.is_none() {
        all.push(
            "the base RTTs of too few LBP flows are known, or of none: no T_e, delta or D"
                .to_owned(),
        );
    }
    all
}
