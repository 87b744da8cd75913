// SPDX-License-Identifier: Apache-2.0
//! Evidence from the packets in flight: how they grow, how long they stay at their top, and which
//! level they never reached.

use super::LogOdds;

/// Log-odds of the share of time at the top below which they are left out.
const NOT_WORTH_A_WORD: f64 = 0.1;

impl LogOdds<'_> {
    /// Between losses the window of a flow limited here grows by half a segment per RTT or more; a
    /// window with another limit stays. Growth does not show where the flow is limited, even less
    /// if it never lost here. But a flow that takes much of a link with room left and lost nowhere
    /// in many round trips has no other limit below what it has already.
    pub(super) fn shape(&mut self) {
        let (o, w) = (self.observed, self.weights);
        let Some(top) = o.top_pkts else { return };
        // If the window itself is seen, this evidence repeats it. A single flow that fills the link
        // by a model of the path also keeps its window.
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
            // A flow that fills the link has no room to grow, a flow that loses every few round
            // trips no time.
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
        // A sawtooth down to half is within 1.25 packets of its 90th percentile for this share of
        // the time, a deeper sawtooth for less.
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

    /// A window kept small by losses grows larger than before whenever losses leave it the time.
    pub(super) fn ceiling(&mut self) {
        let (o, w) = (self.observed, self.weights);
        let Some(most) = o.most_pkts.filter(|_| o.grown_past > 0) else {
            return;
        };
        // A flow that fills the link has no room to grow.
        if o.fills_link || self.takes_most() {
            return;
        }
        let times = f64::from(o.grown_past);
        let odds = w.never_more_most * times / (times + w.times_to_count_half);
        self.add(odds, || {
            format!("never more than {most} in flight, though {times} times enough packets went without a loss for more")
        });
    }

    /// Fraction of the time needed to show whether a window grows that lies between two losses,
    /// without recovery; at most one.
    fn time_to_grow(&self) -> f64 {
        let (o, w) = (self.observed, self.weights);
        let in_flight = o.in_flight_pkts.unwrap_or(0.0).max(1.0);
        let rtts = o.packets / in_flight / f64::from(o.reductions.max(1));
        let beyond = |of: f64| of - w.rtts_to_recover;
        (beyond(rtts) / beyond(w.rtts_to_grow)).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use crate::classify::{Observation, Weights, log_odds};

    /// Growth of a segment per RTT for 100 RTTs on a link that is hardly used.
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

    /// A constant window does not show another limit if it fills the link.
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
            // Takes little of the link: another link may be full before this one.
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
            // Does not grow: limited by the application or a window.
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

    /// Two packets in flight, with a loss every three round trips.
    fn kept_small() -> Observation {
        Observation {
            unsampled: true,
            dropped_here: true,
            busy: true,
            in_flight_pkts: Some(2.0),
            packets: 600.0,
            rtt_s: Some(0.06),
            link_drops: 5000,
            link_loss_rate: 0.17,
            local: 50.0,
            reductions: 100,
            reductions_local: 100,
            top_pkts: Some(2.5),
            shape_rtts: 200.0,
            growth: Some(0.0),
            growth_rtts: 20.0,
            most_pkts: Some(5.0),
            ..Observation::default()
        }
    }

    #[test]
    fn a_window_that_losses_keep_small_is_not_asked_to_grow() {
        let flow = kept_small();
        assert!(log_odds(&flow, &Weights::IN_FORCE) > 0.0);
        let rare = Observation {
            reductions: 20,
            reductions_local: 20,
            ..flow
        };
        assert!(log_odds(&rare, &Weights::IN_FORCE) < -2.0);
    }

    #[test]
    fn what_was_never_in_flight_though_losses_left_the_time_is_another_limit() {
        let odds = |grown_past| {
            let flow = Observation {
                most_pkts: Some(2.0),
                grown_past,
                ..kept_small()
            };
            log_odds(&flow, &Weights::IN_FORCE)
        };
        assert!(odds(0) > 0.0 && odds(1) < -1.0 && odds(6) < odds(1) - 1.0);
        let fills_the_link = Observation {
            most_pkts: Some(2.0),
            grown_past: 6,
            fills_link: true,
            ..kept_small()
        };
        assert!(log_odds(&fills_the_link, &Weights::IN_FORCE) > 0.0);
    }
}
