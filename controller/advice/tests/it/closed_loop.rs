// SPDX-License-Identifier: Apache-2.0
//! Advice followed repeatedly, on links with a simulated response.
//!
//! The effect of each limit is known from simulated runs (ns-3, 50 Mb/s, base RTTs of 20 to 530 ms,
//! harmonic mean 60 ms); loss between limits is interpolated linearly in the logarithms of both.

#![allow(clippy::unwrap_used)] // helpers of tests

use tidemark_advice::{Advice, advise, predict};
use tidemark_rules::{
    CongestionControl, FlowMix, LossMix, Observed, Occupancy, Options, Range, Targets, Traffic,
    TriedLimit,
};

const M: f64 = 1500.0;
const DRAIN: f64 = 50e6 / 8.0;
const T_E_S: f64 = 0.0603;
/// Length of a run, s.
const RUN_S: f64 = 48.0;

/// Limit (packets), utilisation, loss (%).
type Point = (f64, f64, f64);

/// A simulated link.
struct Link {
    name: &'static str,
    flows: f64,
    cubic: f64,
    /// Drops per loss event over N_b.
    alpha: f64,
    truth: &'static [Point],
    /// Limit (packets), loss by overshoots of slow start (%).
    overshoots: &'static [(f64, f64)],
}

const R20: &[Point] = &[
    (63.0, 0.9849, 0.632),
    (68.0, 0.9891, 0.591),
    (87.0, 0.9960, 0.544),
    (100.0, 0.9982, 0.505),
    (147.0, 1.0, 0.352),
    (904.0, 1.0, 0.024),
];
const R60: &[Point] = &[
    (148.0, 1.0, 1.676),
    (249.0, 1.0, 1.121),
    (272.0, 1.0, 1.044),
    (289.0, 1.0, 0.948),
    (358.0, 1.0, 0.786),
    (904.0, 1.0, 0.300),
];
const R100: &[Point] = &[
    (320.0, 1.0, 1.847),
    (528.0, 1.0, 1.177),
    (618.0, 1.0, 0.969),
    (650.0, 1.0, 0.956),
    (904.0, 1.0, 0.639),
];
const R200: &[Point] = &[
    (750.0, 1.0, 2.221),
    (904.0, 1.0, 1.803),
    (1323.0, 1.0, 1.241),
    (1367.0, 1.0, 1.217),
    (1565.0, 1.0, 1.081),
    (1656.0, 1.0, 0.942),
];
const M40: &[Point] = &[
    (100.0, 1.0, 5.050),
    (412.0, 1.0, 1.632),
    (477.0, 1.0, 1.365),
    (586.0, 1.0, 1.061),
    (600.0, 1.0, 0.984),
];
const C100: &[Point] = &[
    (320.0, 1.0, 4.113),
    (904.0, 1.0, 2.602),
    (967.0, 1.0, 2.628),
    (1739.0, 1.0, 2.808),
    (3326.0, 1.0, 3.984),
    (7407.0, 1.0, 4.744),
];

const fn reno(name: &'static str, flows: f64, truth: &'static [Point]) -> Link {
    Link {
        name,
        flows,
        cubic: 0.0,
        alpha: 0.5,
        truth,
        overshoots: &[],
    }
}

const LINKS: [Link; 6] = [
    reno("r20", 20.0, R20),
    reno("r60", 60.0, R60),
    reno("r100", 100.0, R100),
    reno("r200", 200.0, R200),
    reno("m40", 40.0, M40),
    Link {
        name: "c100",
        flows: 100.0,
        cubic: 0.99,
        alpha: 0.5,
        truth: C100,
        overshoots: &[
            (320.0, 0.05),
            (904.0, 0.16),
            (1739.0, 0.44),
            (3326.0, 1.46),
            (7407.0, 1.97),
        ],
    },
];

impl Link {
    fn named(name: &str) -> &'static Link {
        LINKS.iter().find(|l| l.name == name).unwrap()
    }

    /// Returns the share of overshoots in the drops at a limit.
    fn overshoots(&self, packets: f64) -> f64 {
        let known = self.overshoots;
        let Some(last) = known.len().checked_sub(1) else {
            return 0.0;
        };
        let i = known.partition_point(|p| p.0 < packets).clamp(1, last);
        let (a, b) = (known[i - 1], known[i]);
        let part = (packets / a.0).ln() / (b.0 / a.0).ln();
        let rate = (a.1.ln() + part * (b.1 / a.1).ln()).exp() / 100.0;
        (rate / self.at(packets).1).min(1.0)
    }

    /// Returns utilisation and loss rate at a limit, packets.
    fn at(&self, packets: f64) -> (f64, f64) {
        let after = self.truth.partition_point(|p| p.0 < packets);
        let i = after.clamp(1, self.truth.len() - 1);
        let (a, b) = (self.truth[i - 1], self.truth[i]);
        let part = (packets / a.0).ln() / (b.0 / a.0).ln();
        let between = |x: f64, y: f64| (x.ln() + part * (y / x).ln()).exp();
        (between(a.1, b.1).min(1.0), between(a.2, b.2) / 100.0)
    }

    /// Returns the estimators' result for a run at a limit.
    fn measured(&self, packets: f64, tried: &[TriedLimit]) -> Traffic {
        let (utilisation, loss_rate) = self.at(packets);
        let mut m = Traffic::described(50e6, T_E_S, self.flows, M);
        m.t_e_s = Range::relative(T_E_S, 0.02);
        m.t_mean_s = Range::exact(0.217);
        m.c_e_share = Range::exact(0.9);
        m.rho_other = 0.1;
        m.limit_bytes = Some(packets * M);
        m.alpha = Range::relative(self.alpha, 0.1);
        m.alpha_measured = true;
        // One flow in a hundred is recognised wrongly.
        m.congestion_control = CongestionControl::Unknown;
        m.loss_mix = Some(LossMix {
            cubic: self.cubic,
            ..LossMix::default()
        });
        m.flow_mix = Some(FlowMix {
            cubic: self.cubic,
            ..FlowMix::default()
        });
        let drops = (loss_rate * RUN_S * DRAIN / M).round() as u64;
        m.overshoot_drops = (drops as f64 * self.overshoots(packets)) as u64;
        let swing = |i: u32| 1.0 - 0.35 * (1.0 - (f64::from(i) + 0.5) / 100.0);
        let bdp = DRAIN * T_E_S;
        let window = |i: u32| swing(i) * (bdp + packets * M) - bdp;
        let bytes: Vec<f64> = (0..100).map(|i| window(i).max(0.0)).collect();
        let mean = bytes.iter().sum::<f64>() / 100.0 / DRAIN * 1e3;
        m.observed = Some(Observed {
            utilisation,
            loss_rate,
            drops,
            delay_mean_ms: mean,
            delay_p50_ms: mean,
            delay_p99_ms: packets * M / DRAIN * 1e3,
            delay_max_ms: packets * M / DRAIN * 1e3,
        });
        m.occupancy = Some(Occupancy {
            arrivals: (RUN_S * DRAIN / M) as u64,
            met_empty: 1.0 - utilisation,
            bytes,
        });
        m.tried = tried.to_vec();
        m
    }
}

/// Follows the advice for `count` rounds; returns all limits in force and the last advice.
fn rounds(link: &Link, start: f64, count: usize, confidence: f64) -> (Vec<f64>, Advice) {
    let targets = Targets {
        confidence,
        ..Targets::default()
    };
    let (mut packets, mut tried, mut limits) = (start, Vec::new(), vec![start]);
    loop {
        let m = link.measured(packets, &tried);
        let a = advise(&m, &targets, &Options::default());
        let next = a.limit_packets.unwrap();
        let (u, p) = link.at(packets);
        println!(
            "{} {packets:.0}: utilisation {u:.4} loss {:.3} % -> {next:.0} {:?} {}",
            link.name,
            p * 100.0,
            a.rule.as_ref().map(ToString::to_string),
            a.feasible
        );
        if limits.len() > count {
            return (limits, a);
        }
        tried.retain(|t: &TriedLimit| t.limit_bytes != packets * M);
        tried.extend(TriedLimit::of(&m, limits.len() as u64));
        packets = next.round();
        limits.push(packets);
    }
}

/// Four rounds end within the bounds, or as near as two runs of the same traffic are.
#[test]
fn reno_converges() {
    for (name, start) in [
        ("r20", 904.0),
        ("r20", 100.0),
        ("r60", 904.0),
        ("r60", 148.0),
        ("r100", 904.0),
        ("r100", 320.0),
        ("r200", 904.0),
        ("r200", 750.0),
        ("m40", 412.0),
        ("m40", 100.0),
    ] {
        let link = Link::named(name);
        // With this confidence, at most half of the buffer is more than needed.
        for (confidence, part) in [(0.5, 0.75), (0.9, 0.5)] {
            let (limits, last) = rounds(link, start, 4, confidence);
            let end = limits[limits.len() - 1];
            let (utilisation, loss) = link.at(end);
            let (least, most) = if confidence > 0.5 {
                (0.98, 0.01)
            } else {
                (0.975, 0.011)
            };
            assert!(utilisation >= least, "{name} {limits:?}: {utilisation}");
            assert!(loss <= most, "{name} {limits:?}: {loss}");
            assert!(last.feasible, "{name} {:#?}", last.reasons);
            let (less_utilised, more_lost) = link.at(part * end);
            let needed = less_utilised < 0.98 || more_lost > 0.01;
            assert!(needed, "{name} {limits:?}: too much");
            let moved = (limits[limits.len() - 1] / limits[limits.len() - 2]).ln();
            assert!(moved.abs() < 0.2, "{name} {limits:?} still moves");
        }
    }
}
/// More buffer does not help 100 CUBIC flows: 904, 1739, 3326, 7407, 17379 packets used to be
/// advised in turn, while loss rose from 2.6 to 4.7 %.
#[test]
fn cubic_stops() {
    let link = Link::named("c100");
    for start in [320.0, 904.0, 1739.0, 3326.0] {
        let (limits, last) = rounds(link, start, 4, 0.9);
        let end = limits[limits.len() - 1];
        assert!(!last.feasible, "{limits:?}");
        let said = |r: &String| r.contains("no limit is expected to meet 1.00 %");
        assert!(last.reasons.iter().any(said), "{:#?}", last.reasons);
        let next = last.limit_packets.unwrap();
        assert!((next / end - 1.0).abs() < 0.1, "{limits:?} {next}");
        assert!(end <= start.max(1500.0), "{limits:?}");
        let (_, loss) = link.at(end);
        assert!(loss <= link.at(start).1 * 1.001, "{limits:?}");
    }
}

/// Two tried limits show more than the law: the advice returns to the one that lost less.
#[test]
fn what_was_tried_is_gone_back_to() {
    let link = Link::named("c100");
    let before = TriedLimit::of(&link.measured(904.0, &[]), 1).unwrap();
    for in_force in [3326.0, 7407.0] {
        let m = link.measured(in_force, &[before]);
        let a = advise(&m, &Targets::default(), &Options::default());
        assert_eq!(a.limit_packets.unwrap().round(), 904.0, "{:#?}", a.reasons);
        assert_eq!(a.rule.unwrap().as_str(), "limit_tried");
    }
}

/// No two steps in a row away from the bound: after a step that increased the loss, the next one
/// does not continue.
#[test]
fn a_step_that_made_it_worse_is_not_repeated() {
    for link in &LINKS {
        for start in [
            link.truth[0].0.max(60.0),
            link.truth[link.truth.len() - 1].0,
        ] {
            let (limits, _) = rounds(link, start, 4, 0.9);
            let beyond = |packets: f64| (link.at(packets).1 / 0.01).ln().max(0.0);
            for three in limits.windows(3) {
                let [a, b, c] = [three[0], three[1], three[2]].map(beyond);
                let worse = |x: f64, y: f64| y > x + 0.05;
                assert!(!(worse(a, b) && worse(b, c)), "{} {limits:?}", link.name);
            }
        }
    }
}

/// Every pair of limits of every link: the loss at one limit, predicted from the measurement at the
/// other, and from that and a third.
#[test]
fn ranges_hold_the_measured_pairs() {
    for with_a_third in [false, true] {
        let (mut inside, mut all, mut off) = (0, 0, Vec::new());
        for link in &LINKS {
            for (i, from) in link.truth.iter().enumerate() {
                for (j, to) in link.truth.iter().enumerate() {
                    // Adjacent limits do not test a law.
                    if (to.0 / from.0).ln().abs() < 0.15 {
                        continue;
                    }
                    let third = link.truth.iter().enumerate();
                    let third = third.filter(|(k, _)| *k != i && *k != j && with_a_third);
                    let third = third.map(|(_, t)| TriedLimit::of(&link.measured(t.0, &[]), 1));
                    let tried: Vec<TriedLimit> = third.flatten().take(1).collect();
                    let m = link.measured(from.0, &tried);
                    let p = predict(&m, to.0 * M).unwrap().loss_rate;
                    let truth = to.2 / 100.0;
                    all += 1;
                    off.push((p.value / truth).ln().abs());
                    if p.low <= truth && truth <= p.high {
                        inside += 1;
                    } else {
                        println!(
                            "{} {} -> {}: {truth:.4} not in {p:?}",
                            link.name, from.0, to.0
                        );
                    }
                }
            }
        }
        off.sort_by(f64::total_cmp);
        let share = f64::from(inside) / f64::from(all);
        println!(
            "third {with_a_third}: {inside} of {all}, median off {:.3}",
            off[off.len() / 2]
        );
        assert!(share >= 0.85, "{inside} of {all}");
        // And the ranges are no wider than needed.
        assert!(share <= 0.99, "{inside} of {all}");
        assert!(off[off.len() / 2] < 0.15);
    }
}
