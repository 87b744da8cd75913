// SPDX-License-Identifier: Apache-2.0
//! Class of a flow with confidence and reason (BSCL §II, §VI).

mod facts;

use crate::config::EstimatorConfig;
use crate::congestion_control::{Recognised, recognise};
use crate::reductions::{Reduction, passive, probed};
use crate::types::{CongestionControl, Evidence, FlowClass};
use crate::window::FlowWindow;
use facts::{PassiveFacts, ProbeFacts, passive_facts, probe_facts};

/// What the link says about all its flows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkContext {
    /// Fraction of arrivals that met a queue.
    pub non_empty: f64,
    /// `None` without a capacity.
    pub utilisation: Option<f64>,
    /// End of the window, ns.
    pub to_ns: u64,
}

impl LinkContext {
    /// Whether a greedy flow can have its bottleneck here.
    fn busy(&self) -> bool {
        self.non_empty >= 0.5 || self.utilisation.is_some_and(|u| u >= 0.9)
    }
}

/// A flow with its class.
pub(crate) struct Classified {
    pub class: FlowClass,
    pub confidence: f64,
    pub p_lbp: f64,
    pub why: String,
    pub evidence: Evidence,
    pub reductions: Vec<Reduction>,
    pub recognised: Recognised,
}

/// Idle for longer than this, a flow has ended, closed or not.
const IDLE_NS: u64 = 2_000_000_000;
/// A flow of few packets is persistent all the same when it lasts this long.
const PERSISTENT_S: f64 = 5.0;
/// Share of the samples in which a limit must have been met.
const MOSTLY: f64 = 0.7;

struct Verdict {
    class: FlowClass,
    confidence: f64,
    p_lbp: f64,
    why: String,
}

fn verdict(class: FlowClass, confidence: f64, p_lbp: f64, why: impl Into<String>) -> Verdict {
    Verdict {
        class,
        confidence,
        p_lbp,
        why: why.into(),
    }
}

/// Classifies one flow by its history up to the end of the window.
pub(crate) fn classify(
    flow: &FlowWindow<'_>,
    link: &LinkContext,
    config: &EstimatorConfig,
) -> Classified {
    let nothing = Recognised {
        cc: CongestionControl::Unknown,
        beta: None,
    };
    if !flow.is_tcp() {
        return finish(
            verdict(FlowClass::Other, 1.0, 0.0, "not TCP"),
            Evidence::Passive,
            Vec::new(),
            nothing,
        );
    }
    if flow.probed() {
        let reductions = probed(flow, config);
        let recognised = recognise(&reductions);
        let facts = probe_facts(flow, config);
        let v = by_probe(flow, link, config, &reductions, &recognised, &facts);
        finish(v, Evidence::Probed, reductions, recognised)
    } else {
        let reductions = passive(flow, config);
        let facts = passive_facts(flow, config);
        let v = by_reports(flow, link, config, &reductions, &facts);
        finish(v, Evidence::Passive, reductions, nothing)
    }
}

fn finish(
    v: Verdict,
    evidence: Evidence,
    reductions: Vec<Reduction>,
    recognised: Recognised,
) -> Classified {
    Classified {
        class: v.class,
        confidence: v.confidence.clamp(0.0, 1.0),
        p_lbp: v.p_lbp.clamp(0.0, 1.0),
        why: v.why,
        evidence,
        reductions,
        recognised,
    }
}

/// Few packets, and over or only just begun.
fn few_packets(
    flow: &FlowWindow<'_>,
    link: &LinkContext,
    config: &EstimatorConfig,
) -> Option<Verdict> {
    let life = flow.life;
    if life.packets > config.short_packets {
        return None;
    }
    let ended = ended(flow, link);
    (ended || life.span_s() < PERSISTENT_S).then(|| {
        verdict(
            FlowClass::Short,
            if ended { 0.97 } else { 0.8 },
            if ended { 0.0 } else { 0.05 },
            format!(
                "{} packets{}",
                life.packets,
                if ended { ", ended" } else { " so far" }
            ),
        )
    })
}

fn ended(flow: &FlowWindow<'_>, link: &LinkContext) -> bool {
    flow.life.closed || flow.life.last_ns + IDLE_NS < link.to_ns
}

fn counts(reductions: &[Reduction]) -> (f64, f64) {
    let local = reductions.iter().filter(|r| r.local).count() as f64;
    (local, reductions.len() as f64 - local)
}

fn by_probe(
    flow: &FlowWindow<'_>,
    link: &LinkContext,
    config: &EstimatorConfig,
    reductions: &[Reduction],
    recognised: &Recognised,
    facts: &ProbeFacts,
) -> Verdict {
    if let Some(v) = few_packets(flow, link, config) {
        return v;
    }
    if facts.at_receiver_window >= MOSTLY {
        return verdict(
            FlowClass::Wl,
            facts.at_receiver_window,
            0.05 * (1.0 - facts.at_receiver_window),
            format!(
                "in flight sits at the receiver's window in {:.0} % of the samples",
                facts.at_receiver_window * 100.0
            ),
        );
    }
    if recognised.cc == CongestionControl::Bbr {
        return model_based(flow, link, facts);
    }
    if !reductions.is_empty() {
        return by_origin(reductions, link, facts.waits_elsewhere);
    }
    if facts.held_back >= MOSTLY {
        return verdict(
            FlowClass::Rbp,
            0.75,
            0.1,
            "never reduced, in flight well below both windows: held back at its own host",
        );
    }
    if facts.initial_slow_start && (ended(flow, link) || flow.life.span_s() < PERSISTENT_S) {
        return verdict(
            FlowClass::Short,
            0.7,
            if ended(flow, link) { 0.1 } else { 0.4 },
            "in slow start, no loss response",
        );
    }
    if facts.waits_elsewhere {
        return verdict(
            FlowClass::Rbp,
            0.7,
            0.15,
            "never reduced, and its packets wait longer elsewhere than here",
        );
    }
    if link.busy() {
        return verdict(
            FlowClass::Lbp,
            0.7,
            0.7,
            "never reduced, but greedy, and the queue here is not empty",
        );
    }
    verdict(
        FlowClass::Rbp,
        0.55,
        0.25,
        "never reduced, and there is hardly a queue here",
    )
}

/// BBR and its like: the window does not follow losses, so their origin says
/// nothing; a greedy flow has its bottleneck where its packets wait.
fn model_based(flow: &FlowWindow<'_>, link: &LinkContext, facts: &ProbeFacts) -> Verdict {
    if facts.waits_elsewhere {
        return verdict(
            FlowClass::Rbp,
            0.7,
            0.2,
            "window follows a model of the path; its packets wait elsewhere",
        );
    }
    if !flow.drops_ns.is_empty() || link.busy() {
        return verdict(
            FlowClass::Lbp,
            0.85,
            0.85,
            "window follows a model of the path; its packets wait or are dropped here",
        );
    }
    verdict(
        FlowClass::Rbp,
        0.55,
        0.3,
        "window follows a model of the path; no queue here",
    )
}

/// By where most reductions come from.
fn by_origin(reductions: &[Reduction], link: &LinkContext, waits_elsewhere: bool) -> Verdict {
    let (local, remote) = counts(reductions);
    let p_lbp = (local + 0.5) / (local + remote + 1.0);
    let why = format!(
        "{local:.0} of {:.0} reductions follow a drop here",
        local + remote
    );
    if local > remote || (local == remote && link.busy() && !waits_elsewhere) {
        verdict(FlowClass::Lbp, p_lbp.max(0.5), p_lbp.max(0.5), why)
    } else {
        verdict(FlowClass::Rbp, (1.0 - p_lbp).max(0.5), p_lbp.min(0.5), why)
    }
}

fn by_reports(
    flow: &FlowWindow<'_>,
    link: &LinkContext,
    config: &EstimatorConfig,
    reductions: &[Reduction],
    facts: &PassiveFacts,
) -> Verdict {
    if let Some(v) = few_packets(flow, link, config) {
        return v;
    }
    if facts.plateau >= MOSTLY {
        let why = format!(
            "packets in flight stay within 18 % of their largest {:.0} % of the time",
            facts.plateau * 100.0
        );
        return verdict(FlowClass::Wl, 0.9 * facts.plateau, 0.3, why);
    }
    if !reductions.is_empty() {
        let v = by_origin(reductions, link, false);
        return Verdict {
            confidence: 0.9 * v.confidence,
            ..v
        };
    }
    if ended(flow, link) || flow.life.span_s() < PERSISTENT_S {
        return verdict(FlowClass::Short, 0.6, 0.2, "no loss response seen");
    }
    if link.busy() {
        return verdict(
            FlowClass::Lbp,
            0.5,
            0.5,
            "no loss seen, its rate varies and the queue here is not empty",
        );
    }
    verdict(
        FlowClass::Rbp,
        0.5,
        0.3,
        "no loss seen and hardly a queue here",
    )
}
