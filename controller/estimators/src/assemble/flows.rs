// SPDX-License-Identifier: Apache-2.0
//! Every flow of the window with its class and rates.

use super::classed::{Classed, Known, classed};
use super::pauses::Pauses;
use crate::classify::{LinkContext, Past};
use crate::config::EstimatorConfig;
use crate::echo::Echo;
use crate::rtt::BaseRtt;
use crate::types::{FlowClass, FlowEstimate, FlowKeyText};
use crate::window::{FlowWindow, LinkWindow};
use std::net::IpAddr;
use tidemark_proto::telemetry::FlowKey;

/// A flow's estimate and the other facts that the link's estimates need.
pub(super) struct Flow<'a, 'w> {
    pub window: &'w FlowWindow<'a>,
    pub estimate: FlowEstimate,
    pub base_rtt: Option<BaseRtt>,
    echo: Option<Echo>,
    past: Option<Past>,
    /// Probability that the flow is LBP if flows that react to delay hold the queue.
    pub p_by_delay: Option<f64>,
    /// Share of the time that its packets in flight are at their top; 0 if unknown.
    pub at_top: f64,
    /// Chosen as the likeliest flow: it is known that one flow is limited here, but not which.
    pub chosen: bool,
    /// Whether its class was decided by weighing evidence, not by a definition.
    weighed: bool,
    /// Start and end of each stretch in which it sent in the window, without pauses, ns.
    pub stretches: Vec<(u64, u64)>,
    /// Wire bytes that left in the window, scaled up for sampling.
    pub wire_bytes: f64,
    /// Wire bytes that arrived in the window.
    pub offered_bytes: f64,
}

impl Flow<'_, '_> {
    /// Splits off the facts that also hold for a part of the window.
    pub fn known(self) -> (FlowEstimate, Known) {
        let known = Known {
            flow: self.estimate.flow,
            echo: self.echo,
            base_rtt: self.base_rtt,
            past: self.past,
        };
        (self.estimate, known)
    }

    pub fn is_lbp(&self) -> bool {
        self.estimate.class == FlowClass::Lbp
    }

    /// Whether its packets arrive a base RTT after its earlier packets left here.
    pub fn is_clocked(&self) -> bool {
        self.echo.is_some_and(|e| e.clocks())
    }

    /// Whether it sends datagrams, and it is unknown whether they react to a queue.
    pub fn is_unknown(&self) -> bool {
        self.estimate.class == FlowClass::Other && !self.window.is_tcp()
    }

    /// Whether only evidence, and no definition, rules out that it is limited here.
    pub fn is_open(&self) -> bool {
        self.weighed || self.is_unknown()
    }

    /// Weight in counts of flows: the part of the window in which it was active.
    pub fn weight(&self) -> f64 {
        self.estimate.active_fraction.min(1.0)
    }
}

/// All flows of a window. `known` holds facts about them if it was narrowed from a larger one.
pub(super) fn all<'a, 'w>(
    window: &'w LinkWindow<'a>,
    known: Vec<Known>,
    context: &LinkContext,
    config: &EstimatorConfig,
) -> Vec<Flow<'a, 'w>> {
    let classed = classed(window, known, context, config);
    classed.into_iter().map(|c| one(window, c)).collect()
}

/// Five-tuple as text, if the collector described the flow.
pub(super) fn key(f: &FlowWindow<'_>) -> Option<FlowKeyText> {
    f.info.and_then(|i| i.key.as_ref()).map(key_text)
}

/// A flow active for at least this part of the window is active throughout.
const NEARLY_ALL: f64 = 0.85;

fn one<'a, 'w>(link: &LinkWindow<'a>, classed: Classed<'a, 'w>) -> Flow<'a, 'w> {
    let Classed {
        flow: f,
        echo,
        base_rtt,
        class: c,
    } = classed;
    let reductions = c.past.as_ref().map_or(&[][..], |p| &p.reductions);
    let (mut packets, mut drops, mut wire_bytes, mut dropped_bytes) = (0u64, 0u64, 0u64, 0.0);
    let (mut first, mut last) = (u64::MAX, 0u64);
    let pauses = Pauses::of(f, base_rtt);
    let mut stretches: Vec<(u64, u64)> = Vec::new();
    for r in f.window().iter().filter(|r| r.packets + r.drops > 0) {
        let end_ns = r.start_ns.saturating_add(r.duration_ns);
        match stretches.last_mut() {
            Some(going_on) if !pauses.are_between(going_on.1, r.start_ns) => going_on.1 = end_ns,
            _ => stretches.push((r.start_ns, end_ns)),
        }
        packets += u64::from(r.packets);
        drops += u64::from(r.drops);
        wire_bytes += r.wire_bytes;
        first = first.min(r.start_ns);
        last = last.max(end_ns);
    }
    if packets > 0 {
        dropped_bytes = drops as f64 * wire_bytes as f64 / packets as f64;
    }
    let wire_bytes = wire_bytes as f64 * f.sampling;
    let active_ns: u64 = stretches.iter().map(|s| s.1.saturating_sub(s.0)).sum();
    let active_s = active_ns as f64 / 1e9;
    let probes = || f.history.iter().rev().find_map(|r| r.probe.as_ref());
    let probe = f.probed().then(probes).flatten();
    // A flow with a long RTT is silent for an RTT at either end of the window, unless it begins or
    // ends within the window.
    let base_s = base_rtt.map_or(0.0, |b| b.seconds);
    let before = f64::from(u8::from(f.life.first_ns < first));
    let goes_on = link.to_ns.saturating_sub(last) as f64 / 1e9 <= 2.0 * base_s;
    let silent_s = (before + f64::from(u8::from(goes_on))) * base_s;
    let active = (active_s + silent_s) / link.length_s().max(1e-9);
    Flow {
        estimate: FlowEstimate {
            flow: f.id,
            key: key(f),
            class: c.class,
            confidence: c.confidence,
            p_lbp: c.p_lbp,
            why: c.why,
            evidence: c.evidence,
            rate_bps: wire_bytes * 8.0 / active_s.max(1e-3),
            packets: (packets as f64 * f.sampling).round() as u64,
            drops: (!link.drops_untold).then_some(drops),
            active_fraction: if active >= NEARLY_ALL { 1.0 } else { active },
            cwnd: probe.map(|p| p.cwnd_last),
            srtt_ms: probe
                .filter(|p| p.srtt_last_us > 0)
                .map(|p| f64::from(p.srtt_last_us) / 1e3),
            base_rtt_ms: base_rtt.map(|b| b.seconds * 1e3),
            congestion_control: c.recognised.cc,
            beta: c.recognised.beta,
            reductions_local: reductions.iter().filter(|r| r.counts && r.local).count() as u32,
            reductions_remote: reductions.iter().filter(|r| r.counts && !r.local).count() as u32,
        },
        window: f,
        base_rtt,
        echo,
        past: c.past,
        p_by_delay: c.p_by_delay,
        at_top: c.observed.as_ref().map_or(0.0, |o| o.at_top),
        chosen: false,
        weighed: c.observed.is_some(),
        stretches,
        wire_bytes,
        // Drops are always reported, so they need no scaling.
        offered_bytes: wire_bytes + dropped_bytes,
    }
}

fn key_text(key: &FlowKey) -> FlowKeyText {
    FlowKeyText {
        src: address(&key.src),
        dst: address(&key.dst),
        src_port: key.src_port as u16,
        dst_port: key.dst_port as u16,
        protocol: key.protocol as u8,
    }
}

fn address(bytes: &[u8]) -> String {
    if let Ok(v4) = <[u8; 4]>::try_from(bytes) {
        IpAddr::from(v4).to_string()
    } else if let Ok(v6) = <[u8; 16]>::try_from(bytes) {
        IpAddr::from(v6).to_string()
    } else {
        format!("{} bytes", bytes.len())
    }
}
