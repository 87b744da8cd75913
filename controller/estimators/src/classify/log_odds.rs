// SPDX-License-Identifier: Apache-2.0
//! Evidence for and against a bottleneck at this link, as log-odds.

use super::context::LinkContext;
use super::facts::Facts;
use crate::config::EstimatorConfig;
use crate::congestion_control::Recognised;
use crate::reductions::Reduction;
use crate::types::CongestionControl;
use crate::window::FlowWindow;
use tidemark_rules::bscl::SQRT_CONSTANT;

/// Log-odds per standard deviation of the majority of the reductions.
const PER_DEVIATION: f64 = 1.5;
/// However many reductions, they weigh no more than this.
const MOST_BY_REDUCTIONS: f64 = 4.0;
/// The same for reductions that are only inferred from drops here: every flow
/// has its share of those, whatever limits it.
const MOST_BY_DROPS: f64 = 1.5;
/// Growth in segments per RTT between that of a flow limited here and that of
/// one with another limit: 70 % of the half segment that delayed
/// acknowledgements give, the rest left to the blur of the records.
const LIMITED_GROWTH: f64 = 0.35;
/// Round trips that make the shape of a flow certain.
const ENOUGH_RTTS: f64 = 15.0;
/// Drops at the link needed before its loss rate says what window it allows.
const MIN_DROPS: u64 = 20;

/// The sum of the evidence with its reasons.
pub(super) struct LogOdds {
    log_odds: f64,
    reasons: Vec<String>,
}

impl LogOdds {
    pub fn weigh(
        flow: &FlowWindow<'_>,
        link: &LinkContext,
        config: &EstimatorConfig,
        reductions: &[Reduction],
        recognised: &Recognised,
        facts: &Facts,
    ) -> Self {
        let mut odds = Self {
            log_odds: 0.0,
            reasons: Vec::new(),
        };
        let packets = packets(flow);
        let model_based = recognised.cc == CongestionControl::Bbr;
        if model_based {
            odds.model_based(flow, link);
        } else {
            let seen_whole = facts.shape.is_none() && flow.sampling <= 1.0;
            let most = if flow.probed() || seen_whole {
                MOST_BY_REDUCTIONS
            } else {
                MOST_BY_DROPS
            };
            odds.reductions(reductions, link, config, most);
        }
        odds.waiting(facts);
        odds.window(facts, link, packets);
        if !model_based {
            odds.shape(facts, flow, takes_most(facts, link));
        }
        odds.spacing(facts);
        odds.rate(facts, link);
        odds.limits(facts);
        odds
    }

    pub fn p_lbp(&self) -> f64 {
        1.0 / (1.0 + (-self.log_odds).exp())
    }

    pub fn why(&self) -> String {
        self.reasons.join("; ")
    }

    fn add(&mut self, log_odds: f64, why: impl Into<String>) {
        self.log_odds += log_odds;
        self.reasons.push(why.into());
    }

    /// Where the reductions come from, those long ago counting less.
    fn reductions(
        &mut self,
        all: &[Reduction],
        link: &LinkContext,
        config: &EstimatorConfig,
        most: f64,
    ) {
        let (mut local, mut remote) = (0.0, 0.0);
        let (mut of, mut here) = (0u32, 0u32);
        for r in all.iter().filter(|r| r.counts) {
            let age_s = link.to_ns.saturating_sub(r.time_ns) as f64 / 1e9;
            let weight = (-age_s / config.memory_s.max(1e-3)).exp();
            of += 1;
            if r.local {
                here += 1;
                local += weight;
            } else {
                remote += weight;
            }
        }
        if of == 0 {
            if link.busy() {
                self.add(0.6, "never reduced, and the queue here is not empty");
            } else {
                self.add(-1.0, "never reduced, and there is hardly a queue here");
            }
            return;
        }
        // One reduction says little, 40 of 50 leave no doubt.
        let deviation = (local - remote) / f64::sqrt(local + remote + 1.0);
        self.add(
            (PER_DEVIATION * deviation).clamp(-MOST_BY_REDUCTIONS, most),
            format!("{here} of {of} reductions follow a drop here"),
        );
    }

    /// BBR and its like: the window does not follow losses, so their origin
    /// says nothing.
    fn model_based(&mut self, flow: &FlowWindow<'_>, link: &LinkContext) {
        if !flow.drops_ns.is_empty() || link.busy() {
            self.add(
                1.7,
                "window follows a model of the path, packets wait or drop here",
            );
        } else {
            self.add(-0.8, "window follows a model of the path, no queue here");
        }
    }

    /// Where its packets wait.
    fn waiting(&mut self, facts: &Facts) {
        let Some(w) = facts.waiting else { return };
        if w.elsewhere_s > 0.5 * w.here_s && w.elsewhere_s > 0.25 * w.base_s {
            self.add(
                -1.5,
                format!(
                    "packets wait {:.1} ms elsewhere, {:.1} ms here",
                    w.elsewhere_s * 1e3,
                    w.here_s * 1e3
                ),
            );
        } else if w.elsewhere_s < 0.2 * w.here_s && w.here_s > 0.05 * w.base_s {
            self.add(0.7, format!("packets wait here, {:.1} ms", w.here_s * 1e3));
        }
    }

    /// Flows that share a bottleneck have about the same window whatever their
    /// RTT (BSCL eq. 8), that which the loss here allows (eq. 2). Counts the more
    /// the more losses the flow would have had.
    fn window(&mut self, facts: &Facts, link: &LinkContext, packets: f64) {
        let Some(window) = facts.in_flight_pkts else {
            return;
        };
        if link.drops < MIN_DROPS || link.loss_rate <= 0.0 {
            return;
        }
        let allowed = (SQRT_CONSTANT / link.loss_rate.sqrt()).max(2.0);
        let share = (window / allowed).max(1e-3);
        let losses = packets * link.loss_rate;
        let weight = losses / (losses + 1.0);
        let log_odds = if share < 0.5 {
            (3.0 * (2.0 * share).log2()).max(-4.0)
        } else if share > 2.0 {
            // No window limit stands above what the loss allows.
            2.0
        } else if share > 0.8 {
            0.7
        } else {
            return;
        };
        self.add(
            weight * log_odds,
            format!("{window:.1} packets in flight, the loss here allows {allowed:.0}"),
        );
    }

    /// Between losses the window of a flow that is limited here grows, by half a
    /// segment per RTT or more; one with another limit stays. That it grows does
    /// not tell where it is limited, the less so if it never lost here.
    fn shape(&mut self, facts: &Facts, flow: &FlowWindow<'_>, takes_most: bool) {
        let Some(shape) = facts.shape else { return };
        // Where the window itself is seen this is a second look at it. One flow
        // that fills the link by a model of it keeps its window too.
        let weight = if flow.probed() || takes_most {
            0.4
        } else {
            1.0
        };
        let most = if flow.drops_ns.is_empty() { 0.0 } else { 0.8 };
        if let Some(growth) = shape.growth {
            let enough = (shape.growth_rtts / ENOUGH_RTTS).min(1.0);
            let log_odds = (10.0 * (growth - LIMITED_GROWTH)).clamp(-3.5, most);
            self.add(
                weight * enough * log_odds,
                format!("in flight grows by {growth:.2} per RTT between losses"),
            );
        }
        // A sawtooth down to its half is within 1.25 packets of its 90th
        // percentile for this share of the time, one that falls deeper for less.
        let sawtooth = (0.1 + 2.5 / shape.top.max(1.0)).min(0.95);
        let beyond = shape.at_top - sawtooth;
        let most = if sawtooth < 0.5 { most / 2.0 } else { 0.0 };
        let log_odds = (-6.0 * (beyond - 0.1)).clamp(-2.5, most);
        let enough = (shape.rtts / ENOUGH_RTTS).min(1.0);
        if log_odds.abs() > 0.1 {
            self.add(
                weight * enough * log_odds,
                format!(
                    "in flight is at its top of {:.1} for {:.0} % of the time",
                    shape.top,
                    shape.at_top * 100.0
                ),
            );
        }
    }

    /// Windows send in bursts; packets more evenly spaced than by chance have
    /// passed a slower link before.
    fn spacing(&mut self, facts: &Facts) {
        if facts.spacing.is_some_and(|s| s.evenly()) {
            self.add(-2.0, "packets come singly, spaced by a slower link before");
        }
    }

    /// Who takes most of a busy link is bottlenecked there.
    fn rate(&mut self, facts: &Facts, link: &LinkContext) {
        if takes_most(facts, link) {
            let share = link
                .capacity_bytes_per_s
                .map_or(0.0, |c| facts.bytes_per_s / c);
            self.add(3.0, format!("takes {:.0} % of a busy link", share * 100.0));
        }
    }

    /// Signs of another limit.
    fn limits(&mut self, facts: &Facts) {
        if facts.held_back >= 0.7 {
            self.add(
                -2.5,
                "in flight well below both windows: held back at its own host",
            );
        }
    }
}

/// Packets of the flow that are remembered.
fn packets(flow: &FlowWindow<'_>) -> f64 {
    let seen: f64 = flow.history.iter().map(|r| f64::from(r.packets)).sum();
    seen * flow.sampling
}

fn takes_most(facts: &Facts, link: &LinkContext) -> bool {
    link.busy()
        && link
            .capacity_bytes_per_s
            .is_some_and(|c| facts.bytes_per_s > 0.5 * c)
}

/// Loss events of a flow needed to see whether it heeds them.
const EVENTS_HEEDED: usize = 4;

/// Whether an unprobed flow keeps more in flight than any that reduces on loss
/// could after the losses it had here (BSCL eq. 2): BBR and its like.
pub(super) fn defies_loss(flow: &FlowWindow<'_>, facts: &Facts, reductions: &[Reduction]) -> bool {
    let (Some(shape), None) = (facts.shape, facts.initial_slow_start) else {
        return false;
    };
    let events = reductions.iter().filter(|r| r.counts && r.local).count();
    let allowed = SQRT_CONSTANT * (packets(flow) / events.max(1) as f64).sqrt();
    events >= EVENTS_HEEDED && shape.mean > 2.0 * allowed
}
