// SPDX-License-Identifier: Apache-2.0
//! Fits the weights, computes their intervals, and tests how sensitive the classes are to them.

use super::dataset::Flow;
use std::collections::BTreeMap;
use tidemark_estimators::calibration::{Observation, WeightKind, Weights, log_odds};

/// How well weights separate LBP flows from the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Score {
    /// Mean log-loss of `p_lbp`, nats; every run has the same weight.
    pub log_loss: f64,
    /// Flows whose `p_lbp` is on the right side of one half.
    pub right: usize,
    pub flows: usize,
}

impl Score {
    pub(crate) fn accuracy(&self) -> f64 {
        self.right as f64 / self.flows.max(1) as f64
    }
}

/// A flow with its weight in the mean loss; the weights of each run's flows add up to the same sum.
struct Weighed<'a> {
    observed: &'a Observation,
    lbp: bool,
    counts: f64,
}

fn weighed<'a>(flows: &[&'a Flow]) -> Vec<Weighed<'a>> {
    let mut of_run: BTreeMap<&str, f64> = BTreeMap::new();
    for f in flows {
        *of_run.entry(&f.run).or_default() += 1.0;
    }
    let runs = of_run.len() as f64;
    flows
        .iter()
        .map(|f| Weighed {
            observed: &f.observed,
            lbp: f.lbp,
            counts: 1.0 / (runs * of_run[f.run.as_str()]),
        })
        .collect()
}

/// Largest loss of one flow, so that no confidently wrong flow decides the fit alone.
const MOST_NATS: f64 = 5.0;

fn loss(flows: &[Weighed<'_>], weights: &Weights) -> f64 {
    flows
        .iter()
        .map(|f| {
            let odds = log_odds(f.observed, weights);
            let for_it = if f.lbp { odds } else { -odds };
            f.counts * (-for_it).exp().ln_1p().min(MOST_NATS)
        })
        .sum()
}

pub(crate) fn score(flows: &[&Flow], weights: &Weights) -> Score {
    let right = flows
        .iter()
        .filter(|f| (log_odds(&f.observed, weights) >= 0.0) == f.lbp)
        .count();
    Score {
        log_loss: loss(&weighed(flows), weights),
        right,
        flows: flows.len(),
    }
}

pub(crate) fn values(weights: &Weights) -> Vec<f64> {
    weights.list().into_iter().map(|w| w.2).collect()
}

/// A weight stays within this factor of its start: the data say nothing beyond it.
const FARTHEST: f64 = 4.0;
/// Cost, in nats, of moving a weight from its start by a factor e. Holds weights on which the data
/// have no effect.
const STAY: f64 = 0.0005;
const STEPS: [f64; 6] = [0.5, 2.0, 0.8, 1.25, 0.95, 1.05];
const MOST_ROUNDS: usize = 12;

/// Returns the weights that fit the flows best: moves one weight after another by a factor as long
/// as the fit improves. Thresholds stay.
pub(crate) fn fit(flows: &[&Flow], start: &Weights) -> Weights {
    let flows = weighed(flows);
    let from = values(start);
    let fitted: Vec<bool> = start
        .list()
        .iter()
        .map(|w| w.1 == WeightKind::LogOdds)
        .collect();
    let cost = |values: &[f64]| {
        let stay: f64 = values
            .iter()
            .zip(&from)
            .map(|(v, f)| (v / f).ln().powi(2))
            .sum();
        loss(&flows, &Weights::from_values(values).unwrap()) + STAY * stay
    };
    let mut best = from.clone();
    let mut least = cost(&best);
    for _ in 0..MOST_ROUNDS {
        let before = least;
        for i in (0..best.len()).filter(|&i| fitted[i]) {
            for step in STEPS {
                let mut tried = best.clone();
                let factor = (tried[i] * step / from[i]).clamp(1.0 / FARTHEST, FARTHEST);
                tried[i] = from[i] * factor;
                let costs = cost(&tried);
                if costs < least {
                    (best, least) = (tried, costs);
                }
            }
        }
        if before - least < 1e-6 {
            break;
        }
    }
    Weights::from_values(&best).unwrap()
}

/// 5th and 95th percentile of each weight, fitted to bootstrap samples: flows drawn with repetition
/// within each run.
pub(crate) fn intervals(flows: &[&Flow], start: &Weights, samples: u64) -> Vec<(f64, f64)> {
    let mut by_run: BTreeMap<&str, Vec<&Flow>> = BTreeMap::new();
    for f in flows {
        by_run.entry(&f.run).or_default().push(f);
    }
    let mut found: Vec<Vec<f64>> = vec![Vec::new(); values(start).len()];
    let mut dice = 0u64;
    for _ in 0..samples {
        let mut drawn = Vec::with_capacity(flows.len());
        for of_run in by_run.values() {
            for _ in of_run {
                dice += 1;
                drawn.push(of_run[(mixed(dice) % of_run.len() as u64) as usize]);
            }
        }
        for (found, value) in found.iter_mut().zip(values(&fit(&drawn, start))) {
            found.push(value);
        }
    }
    found
        .into_iter()
        .map(|mut v| {
            v.sort_by(f64::total_cmp);
            let at = |q: f64| v[(q * (v.len() - 1) as f64).round() as usize];
            (at(0.05), at(0.95))
        })
        .collect()
}

/// splitmix64: the same sequence on every machine.
fn mixed(i: u64) -> u64 {
    let mut x = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Factors by which each number is changed, one number at a time.
pub(crate) const MOVES: [f64; 4] = [0.5, 0.8, 1.2, 1.5];

/// Scores with number `i` multiplied by each of [`MOVES`].
pub(crate) fn moved(flows: &[&Flow], weights: &Weights, i: usize) -> [Score; 4] {
    MOVES.map(|factor| {
        let mut values = values(weights);
        values[i] *= factor;
        score(flows, &Weights::from_values(&values).unwrap())
    })
}
