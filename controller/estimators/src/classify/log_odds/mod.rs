// SPDX-License-Identifier: Apache-2.0
//! Evidence for and against a bottleneck at this link, as log-odds.

mod in_flight;

use super::observation::Observation;
use super::timeouts::with_timeouts;
use super::weights::Weights;
use tidemark_rules::bscl::SQRT_CONSTANT;

/// Least excess of local over remote reductions that leaves no doubt, in standard deviations.
const LOCAL_DEVIATIONS: f64 = 2.0;

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
    /// Weighs all evidence and gives the reasons.
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
        odds.echo();
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

    /// Evidence from the origin of the reductions (BSCL §VI); old reductions count less.
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
        let odds = (w.per_deviation * self.deviation())
            .max(-w.most_by_reductions)
            .min(most);
        self.add(odds, || {
            let (here, of) = (o.reductions_local, o.reductions);
            let what = if o.marked_here { "mark" } else { "drop" };
            format!("{here} of {of} reductions follow a {what} here")
        });
    }

    /// Model-based congestion control such as BBR: the window does not follow losses, so their
    /// origin says nothing.
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

    /// Evidence from where its packets wait.
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

    /// Flows that share a bottleneck have about the same window whatever their RTT (BSCL eq. 8):
    /// the window that the loss here allows (eq. 2). The evidence counts more, the more losses the
    /// flow would have had.
    fn window(&mut self) {
        let (o, w) = (self.observed, self.weights);
        let Some((window, allowed)) = o.in_flight_pkts.zip(self.allowed_pkts()) else {
            return;
        };
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
            // A flow above what the loss allows has no window limit.
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

    /// Evidence from ACK clocking: packets that leave here cause acknowledgements, which release
    /// the next packets of a flow with a window. Model-based control (BBR) paces its packets
    /// instead, and a flow whose window exceeds what the loss allows has no other bottleneck.
    fn echo(&mut self) {
        let (o, w) = (self.observed, self.weights);
        let Some(share) = o.echo_share.filter(|_| !o.model_based) else {
            return;
        };
        if share >= w.clocked_share {
            self.add(w.clocked, || {
                "its packets come a round trip after earlier ones left here".into()
            });
        } else if !(self.takes_most() || self.is_blurred() || o.unsampled && self.is_large()) {
            self.add(w.unclocked, || {
                "its packets do not follow those that left here earlier".into()
            });
        }
    }

    /// Excess of local over remote reductions, in standard deviations.
    fn deviation(&self) -> f64 {
        let o = self.observed;
        (o.local - o.remote) / f64::sqrt(o.local + o.remote + 1.0)
    }

    /// Returns whether a second queue spreads the echo of a flow whose reductions follow drops here.
    /// With one or two packets in flight a flow waits for timeouts, and every loss reduces it.
    fn is_blurred(&self) -> bool {
        let (o, w) = (self.observed, self.weights);
        let reduces_here = o.probed && !o.marked_here && self.deviation() >= LOCAL_DEVIATIONS;
        if !reduces_here || o.in_flight_pkts.is_none_or(|p| p <= w.least_allowed_pkts) {
            return false;
        }
        let waits = (o.wait_base_s.zip(o.wait_here_s)).zip(o.wait_elsewhere_s);
        waits.is_some_and(|((base, here), elsewhere)| {
            elsewhere > w.hardly_elsewhere_of_here * here && elsewhere > w.here_of_base * base
        })
    }

    /// A flow that takes most of a busy link is bottlenecked there.
    fn rate(&mut self) {
        if self.takes_most() {
            let share = self.observed.rate_share * 100.0;
            self.add(self.weights.takes_most, || {
                format!("takes {share:.0} % of a busy link")
            });
        }
    }

    /// Whether the window is far above what the loss here allows.
    fn is_large(&self) -> bool {
        let (o, w) = (self.observed, self.weights);
        let allowed = self.allowed_pkts();
        o.in_flight_pkts
            .zip(allowed)
            .is_some_and(|(window, allowed)| window > w.window_unheeding * allowed)
    }

    /// Window that the loss here allows (BSCL eq. 2), if known.
    fn allowed_pkts(&self) -> Option<f64> {
        let (o, w) = (self.observed, self.weights);
        (o.link_drops as f64 >= w.link_drops && o.link_loss_rate > 0.0)
            .then(|| (SQRT_CONSTANT / o.link_loss_rate.sqrt()).max(w.least_allowed_pkts))
    }

    fn takes_most(&self) -> bool {
        self.observed.busy && self.observed.rate_share > self.weights.most_of_link
    }

    /// Evidence of another limit.
    fn limits(&mut self) {
        if self.observed.held_back >= self.weights.held_back {
            self.add(self.weights.held_back_odds, || {
                "in flight well below both windows: held back at its own host".into()
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flow of the experiment `parking-lot` on real TCP: it loses at a queue of 5 Mb/s, and waits
    /// as long at one of 40 Mb/s, where it hardly loses.
    fn before_a_second_queue() -> Observation {
        Observation {
            probed: true,
            unsampled: true,
            busy: true,
            dropped_here: true,
            local: 50.0,
            remote: 23.0,
            reductions: 73,
            reductions_local: 50,
            in_flight_pkts: Some(8.6),
            rtt_s: Some(0.094),
            packets: 1_700.0,
            link_drops: 260,
            link_loss_rate: 0.033,
            echo_share: Some(0.45),
            wait_base_s: Some(0.0464),
            wait_here_s: Some(0.0288),
            wait_elsewhere_s: Some(0.0185),
            ..Observation::default()
        }
    }

    #[test]
    fn a_second_queue_spreads_the_echo_of_a_flow_that_loses_here() {
        let is_lbp = |o: Observation| log_odds(&o, &Weights::IN_FORCE) > 0.0;
        let flow = before_a_second_queue;
        assert!(is_lbp(flow()));
        // At the second queue, few of its reductions follow a drop.
        let (local, remote) = (7.0, 68.0);
        assert!(!is_lbp(Observation {
            local,
            remote,
            ..flow()
        }));
        // Without a second queue, a flow with a window has an echo.
        assert!(!is_lbp(Observation {
            wait_elsewhere_s: Some(0.0),
            wait_here_s: None,
            ..flow()
        }));
        // Timeouts leave no echo.
        assert!(!is_lbp(Observation {
            in_flight_pkts: Some(1.0),
            ..flow()
        }));
    }
}
