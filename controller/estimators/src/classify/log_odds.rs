// SPDX-License-Identifier: Apache-2.0
//! Evidence for and against a bottleneck at this link, as log-odds.

use super::observation::Observation;
use super::timeouts::with_timeouts;
use super::weights::Weights;
use tidemark_rules::bscl::SQRT_CONSTANT;

/// The sum of the evidence with its reasons.
pub(super) struct LogOdds<'a> {
    sum: f64,
    reasons: Option<Vec<String>>,
    observed: &'a Observation,
    weights: &'a Weights,
}

/// Log-odds that the flow observed is bottlenecked at the link.
pub fn log_odds(observed: &Observation, weights: &Weights) -> f64 {
    LogOdds::sum_up(observed, weights, None).sum
}

impl<'a> LogOdds<'a> {
    /// Weighs all there is, and says why.
    pub fn weigh(observed: &'a Observation, weights: &'a Weights) -> Self {
        Self::sum_up(observed, weights, Some(Vec::new()))
    }

    fn sum_up(
        observed: &'a Observation,
        weights: &'a Weights,
        reasons: Option<Vec<String>>,
    ) -> Self {
        let mut odds = Self {
            sum: 0.0,
            reasons,
            observed,
            weights,
        };
        if observed.model_based {
            odds.model_based();
        } else {
            odds.reductions();
        }
        odds.waiting();
        odds.window();
        if !observed.model_based {
            odds.shape();
            odds.ceiling();
        }
        odds.spacing();
        odds.rate();
        odds.limits();
        odds
    }

    pub fn p_lbp(&self) -> f64 {
        1.0 / (1.0 + (-self.sum).exp())
    }

    pub fn why(&self) -> String {
        self.reasons.as_deref().unwrap_or_default().join("; ")
    }

    fn add(&mut self, log_odds: f64, why: impl FnOnce() -> String) {
        self.sum += log_odds;
        if let Some(reasons) = &mut self.reasons {
            reasons.push(why());
        }
    }

    /// Where the reductions come from (BSCL §VI), those long ago counting less.
    fn reductions(&mut self) {
        let (o, w) = (self.observed, self.weights);
        let seen_by_drops_alone = !o.probed && o.unsampled && o.top_pkts.is_none();
        if seen_by_drops_alone {
            self.add(w.drops_alone, || {
                "its base RTT is not known, so its window is not".into()
            });
        }
        if o.reductions == 0 {
            if o.busy {
                self.add(w.never_reduced_busy, || {
                    "never reduced, and the queue here is not empty".into()
                });
            } else {
                self.add(w.never_reduced_idle, || {
                    "never reduced, and there is hardly a queue here".into()
                });
            }
            return;
        }
        let most = match (o.probed, o.marked_here) {
            (true, true) => w.most_by_marks,
            (true, false) => w.most_by_reductions,
            (false, _) => w.most_by_drops,
        };
        // One reduction says little, 40 of 50 leave no doubt.
        let deviation = (o.local - o.remote) / f64::sqrt(o.local + o.remote + 1.0);
        let odds = (w.per_deviation * deviation)
            .max(-w.most_by_reductions)
            .min(most);
        self.add(odds, || {
            let (here, of) = (o.reductions_local, o.reductions);
            let what = if o.marked_here { "mark" } else { "drop" };
            format!("{here} of {of} reductions follow a {what} here")
        });
    }

    /// BBR and its like: the window does not follow losses, so their origin
    /// says nothing.
    fn model_based(&mut self) {
        let (o, w) = (self.observed, self.weights);
        if o.dropped_here || o.busy {
            self.add(w.model_based_busy, || {
                "window follows a model of the path, packets wait or drop here".into()
            });
        } else {
            self.add(w.model_based_idle, || {
                "window follows a model of the path, no queue here".into()
            });
        }
    }

    /// Where its packets wait.
    fn waiting(&mut self) {
        let (o, w) = (self.observed, self.weights);
        let (Some(base), Some(here), Some(elsewhere)) =
            (o.wait_base_s, o.wait_here_s, o.wait_elsewhere_s)
        else {
            return;
        };
        let (here_ms, elsewhere_ms) = (here * 1e3, elsewhere * 1e3);
        if elsewhere > w.elsewhere_of_here * here && elsewhere > w.elsewhere_of_base * base {
            self.add(w.waits_elsewhere, || {
                format!("packets wait {elsewhere_ms:.1} ms elsewhere, {here_ms:.1} ms here")
            });
        } else if elsewhere < w.hardly_elsewhere_of_here * here && here > w.here_of_base * base {
            self.add(w.waits_here, || {
                format!("packets wait here, {here_ms:.1} ms")
            });
        }
    }

    /// Flows that share a bottleneck have about the same window whatever their
    /// RTT (BSCL eq. 8), that which the loss here allows (eq. 2). Counts the more
    /// the more losses the flow would have had.
    fn window(&mut self) {
        let (o, w) = (self.observed, self.weights);
        let Some(window) = o.in_flight_pkts else {
            return;
        };
        if (o.link_drops as f64) < w.link_drops || o.link_loss_rate <= 0.0 {
            return;
        }
        let allowed = (SQRT_CONSTANT / o.link_loss_rate.sqrt()).max(w.least_allowed_pkts);
        let share = (window / allowed).max(1e-3);
        let least = o.rtt_s.map_or(allowed, |rtt| {
            allowed.min(with_timeouts(o.link_loss_rate, rtt))
        });
        let of_least = (window / least).max(1e-3);
        let losses = o.packets * o.link_loss_rate;
        let certainty = losses / (losses + w.losses_to_count_half);
        let odds = if of_least < w.window_small {
            (w.window_small_per_octave * (of_least / w.window_small).log2())
                .max(w.window_small_most)
        } else if share > w.window_large {
            // No window limit stands above what the loss allows.
            w.window_large_odds
        } else if share > w.window_as_allowed {
            w.window_as_allowed_odds
        } else {
            return;
        };
        self.add(certainty * odds, || {
            format!("{window:.1} packets in flight, the loss here allows {allowed:.0}")
        });
    }

    /// Between losses the window of a flow that is limited here grows, by half a
    /// segment per RTT or more; one with another limit stays. That it grows does
    /// not tell where it is limited, the less so if it never lost here: but one that
    /// takes much of a link with room left and lost nowhere in many round trips has no
    /// other limit below what it has already.
    fn shape(&mut self) {
        let (o, w) = (self.observed, self.weights);
        let Some(top) = o.top_pkts else { return };
        // Where the window itself is seen this is a second look at it. One flow
        // that fills the link by a model of it keeps its window too.
        let weight = if o.probed || self.takes_most() {
            w.second_look
        } else {
            1.0
        };
        let most = if o.dropped_here {
            w.shape_for_most
        } else if !o.busy && o.reductions == 0 && o.rate_share >= w.part_of_link {
            w.shape_for_most * (o.growth_rtts / w.undisturbed_rtts).min(1.0)
        } else {
            0.0
        };
        if let Some(growth) = o.growth {
            let enough = (o.growth_rtts / w.shape_rtts).min(1.0);
            // One that fills the link has no room to grow, one that loses every few
            // round trips no time.
            let least = if o.fills_link {
                0.0
            } else {
                w.no_growth_most * self.time_to_grow()
            };
            let odds = (w.growth_slope * (growth - w.limited_growth))
                .min(most)
                .max(least);
            self.add(weight * enough * odds, || {
                format!("in flight grows by {growth:.2} per RTT between losses")
            });
        }
        // A sawtooth down to its half is within 1.25 packets of its 90th
        // percentile for this share of the time, one that falls deeper for less.
        let sawtooth =
            (w.sawtooth_at_top + w.sawtooth_at_top_pkts / top.max(1.0)).min(w.sawtooth_at_top_most);
        let beyond = o.at_top - sawtooth;
        let most = if sawtooth < w.sawtooth_is_seen {
            most / 2.0
        } else {
            0.0
        };
        let odds = (-w.top_slope * (beyond - w.top_slack))
            .max(w.constant_window_most)
            .min(most);
        let enough = (o.shape_rtts / w.shape_rtts).min(1.0);
        if odds.abs() > NOT_WORTH_A_WORD {
            self.add(weight * enough * odds, || {
                let share = o.at_top * 100.0;
                format!("in flight is at its top of {top:.1} for {share:.0} % of the time")
            });
        }
    }

    /// A window that losses keep small grows past what it was when they leave it the time.
    fn ceiling(&mut self) {
        let (o, w) = (self.observed, self.weights);
        let Some(most) = o.most_pkts.filter(|_| o.grown_past > 0) else {
            return;
        };
        // One that fills the link has no room to grow.
        if o.fills_link || self.takes_most() {
            return;
        }
        let times = f64::from(o.grown_past);
        let odds = w.never_more_most * times / (times + w.times_to_count_half);
        self.add(odds, || {
            format!("never more than {most} in flight, with {times} times enough packets without a loss for more")
        });
    }

    /// How much of the time that shows whether a window grows lies between two losses,
    /// recovery left out; at most one.
    fn time_to_grow(&self) -> f64 {
        let (o, w) = (self.observed, self.weights);
        let in_flight = o.in_flight_pkts.unwrap_or(0.0).max(1.0);
        let rtts = o.packets / in_flight / f64::from(o.reductions.max(1));
        let beyond = |of: f64| of - w.rtts_to_recover;
        (beyond(rtts) / beyond(w.rtts_to_grow)).clamp(0.0, 1.0)
    }

    /// Windows send in bursts; packets more evenly spaced than by chance have
    /// passed a slower link before.
    fn spacing(&mut self) {
        if self.observed.evenly_spaced {
            self.add(self.weights.evenly_spaced, || {
                "packets come singly, spaced by a slower link before".into()
            });
        }
    }

    /// Who takes most of a busy link is bottlenecked there.
    fn rate(&mut self) {
        if self.takes_most() {
            let share = self.observed.rate_share * 100.0;
            self.add(self.weights.takes_most, || {
                format!("takes {share:.0} % of a busy link")
            });
        }
    }

    fn takes_most(&self) -> bool {
        self.observed.busy && self.observed.rate_share > self.weights.most_of_link
    }

    /// Signs of another limit.
    fn limits(&mut self) {
        if self.observed.held_back >= self.weights.held_back {
            self.add(self.weights.held_back_odds, || {
                "in flight well below both windows: held back at its own host".into()
            });
        }
    }
}

/// Log-odds of a share of the time at the top that are left out.
const NOT_WORTH_A_WORD: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    /// Grows by a segment per RTT for 100 RTTs on a link that is hardly used.
    fn undisturbed() -> Observation {
        Observation {
            unsampled: true,
            in_flight_pkts: Some(60.0),
            packets: 20_000.0,
            rtt_s: Some(0.2),
            top_pkts: Some(100.0),
            at_top: 0.12,
            shape_rtts: 100.0,
            growth: Some(1.0),
            growth_rtts: 100.0,
            rate_share: 0.2,
            ..Observation::default()
        }
    }

    /// A window that keeps its size is no sign of another limit where it fills the link.
    #[test]
    fn who_fills_the_link_need_not_grow() {
        let flow = Observation {
            busy: true,
            rate_share: 0.99,
            fills_link: true,
            growth: Some(0.0),
            at_top: 0.18,
            ..undisturbed()
        };
        assert!(log_odds(&flow, &Weights::IN_FORCE) > 2.0);
        let other = Observation {
            fills_link: false,
            rate_share: 0.4,
            ..flow
        };
        assert!(log_odds(&other, &Weights::IN_FORCE) < -2.0);
    }

    #[test]
    fn growth_that_nothing_stops_tells_where_much_of_the_link_is_taken() {
        let odds = |o: &Observation| log_odds(o, &Weights::IN_FORCE);
        let flow = undisturbed();
        assert!(odds(&flow) > 0.0 && odds(&flow) < 1.5);
        let others = [
            // Takes little of the link: a link elsewhere may be full before this one.
            Observation {
                rate_share: 0.05,
                ..flow.clone()
            },
            // Lost elsewhere.
            Observation {
                reductions: 2,
                remote: 1.5,
                ..flow.clone()
            },
            // Does not grow: the application or a window limits it.
            Observation {
                growth: Some(0.0),
                at_top: 0.9,
                ..flow.clone()
            },
            // Seen for too short a time.
            Observation {
                growth_rtts: 6.0,
                shape_rtts: 8.0,
                ..flow.clone()
            },
        ];
        for other in &others {
            assert!(odds(other) < -0.2, "{} {other:?}", odds(other));
        }
    }
}
