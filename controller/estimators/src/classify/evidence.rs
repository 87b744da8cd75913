// SPDX-License-Identifier: Apache-2.0
//! Evidence for and against a bottleneck at this link, as log-odds.

use super::LinkContext;
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
/// Drops at the link needed before its loss rate says what window it allows.
const MIN_DROPS: u64 = 20;

/// The sum of the evidence with its reasons.
pub(super) struct Odds {
    log_odds: f64,
    reasons: Vec<String>,
}

impl Odds {
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
        if recognised.cc == CongestionControl::Bbr {
            odds.model_based(flow, link);
        } else {
            odds.reductions(reductions, link, config);
        }
        odds.waiting(facts);
        odds.window(facts, link);
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
    fn reductions(&mut self, all: &[Reduction], link: &LinkContext, config: &EstimatorConfig) {
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
            (PER_DEVIATION * deviation).clamp(-MOST_BY_REDUCTIONS, MOST_BY_REDUCTIONS),
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
    /// RTT (BSCL eq. 8), that which the loss here allows (eq. 2).
    fn window(&mut self, facts: &Facts, link: &LinkContext) {
        let Some(window) = facts.in_flight_pkts else {
            return;
        };
        if link.drops < MIN_DROPS || link.loss_rate <= 0.0 {
            return;
        }
        let allowed = (SQRT_CONSTANT / link.loss_rate.sqrt()).max(2.0);
        let share = window / allowed;
        let why = format!("{window:.1} packets in flight, the loss here allows {allowed:.0}");
        if share < 0.25 {
            self.add(-2.5, why);
        } else if share < 0.4 {
            self.add(-1.0, why);
        } else if share > 1.0 {
            self.add(0.7, why);
        }
    }

    /// Who takes most of a busy link is bottlenecked there.
    fn rate(&mut self, facts: &Facts, link: &LinkContext) {
        let Some(c) = link.capacity_bytes_per_s else {
            return;
        };
        let share = facts.bytes_per_s / c;
        if share > 0.5 && link.busy() {
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
        if let Some(p) = facts.plateau.filter(|&p| p >= super::PLATEAU) {
            self.add(
                -4.5,
                format!(
                    "packets in flight hardly vary {:.0} % of the time",
                    p * 100.0
                ),
            );
        }
    }
}
