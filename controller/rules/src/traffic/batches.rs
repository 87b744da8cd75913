// SPDX-License-Identifier: Apache-2.0
//! Sampling errors by batch means.
//!
//! Losses come in bursts about a sawtooth apart, and the load drifts, so packets and seconds are
//! correlated, but batches of [`BATCH_S`] hardly are. The spread between batches gives the error of
//! the overall mean. Only sums are kept, so that windows can be added.

use crate::quantiles::{Z90, t90};
use serde::{Deserialize, Serialize};

/// Shortest duration of a batch, s.
pub const BATCH_S: f64 = 4.0;
/// Number of batches below which their spread is unknown.
const FEWEST: f64 = 5.0;
/// Sums of the drops, arrivals and utilisation of batches of equal length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Batches {
    /// Number of batches.
    pub count: f64,
    /// Sum of the squares of the batches' drops.
    pub drops_squared: f64,
    /// Sum of drops times arrivals.
    pub drops_by_arrivals: f64,
    /// Sum of the batches' arrivals.
    pub arrivals: f64,
    /// Sum of the squares of the batches' arrivals.
    pub arrivals_squared: f64,
    /// Sum of the batches' utilisations, fractions.
    pub utilisation: f64,
    /// Sum of the squares of the batches' utilisations.
    pub utilisation_squared: f64,
}

impl Batches {
    /// Adds a batch: packets dropped, packets that arrived, utilisation.
    pub fn take(&mut self, drops: f64, arrivals: f64, utilisation: f64) {
        self.add(Self {
            count: 1.0,
            drops_squared: drops * drops,
            drops_by_arrivals: drops * arrivals,
            arrivals,
            arrivals_squared: arrivals * arrivals,
            utilisation,
            utilisation_squared: utilisation * utilisation,
        });
    }

    /// Adds the batches of another window.
    pub fn add(&mut self, mut other: Self) {
        for (sum, more) in self.sums().into_iter().zip(other.sums()) {
            *sum += *more;
        }
    }

    fn sums(&mut self) -> [&mut f64; 7] {
        [
            &mut self.count,
            &mut self.drops_squared,
            &mut self.drops_by_arrivals,
            &mut self.arrivals,
            &mut self.arrivals_squared,
            &mut self.utilisation,
            &mut self.utilisation_squared,
        ]
    }

    /// Returns whether there are no batches.
    pub fn is_empty(&self) -> bool {
        self.count <= 0.0
    }

    /// Scales the weight of all batches by `share`.
    pub fn fade(&mut self, share: f64) {
        for sum in self.sums() {
            *sum *= share;
        }
    }

    /// Returns the standard error of a mean over batches from the sum of squared deviations,
    /// widened by the ratio of Student's quantile to the normal one.
    fn error(&self, squares: f64) -> Option<f64> {
        let free = self.count - 1.0;
        let student = t90(free as usize) / Z90;
        (self.count >= FEWEST).then(|| student * (squares.max(0.0) / free / self.count).sqrt())
    }

    /// Returns the number of independent events that a loss rate with this spread corresponds to:
    /// the inverse of its relative variance (ratio estimator). `None` with few batches or no loss.
    pub fn loss_events(&self, loss_rate: f64) -> Option<f64> {
        let p = loss_rate;
        let squares =
            self.drops_squared - 2.0 * p * self.drops_by_arrivals + p * p * self.arrivals_squared;
        let lost = p * self.arrivals / self.count;
        let error = self.error(squares)? / lost;
        (error > 0.0 && error.is_finite()).then(|| error.powi(-2))
    }

    /// Returns the sampling error of the mean utilisation, fraction: half of its 90 % interval.
    /// `None` with few batches.
    pub fn utilisation_error(&self) -> Option<f64> {
        let squares = self.utilisation_squared - self.utilisation * self.utilisation / self.count;
        Some(Z90 * self.error(squares)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a known variance, 90 of 100 intervals contain the mean.
    #[test]
    fn intervals_hold_the_mean_as_often_as_they_say() {
        let mut seed = 7_u64;
        let mut uniform = move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 11) as f64 / (1_u64 << 53) as f64
        };
        for count in [5, 10, 50] {
            let (mut used_inside, mut lost_inside) = (0, 0);
            for _ in 0..2000 {
                let mut b = Batches::default();
                let (mut used, mut lost, mut all) = (0.0, 0.0, 0.0);
                for _ in 0..count {
                    let (u, arrivals) = (0.5 + 0.1 * (uniform() - 0.5), 900.0 + 200.0 * uniform());
                    let drops = arrivals * 0.02 * (uniform() + uniform());
                    b.take(drops, arrivals, u);
                    (used, lost, all) = (used + u, lost + drops, all + arrivals);
                }
                let off = used / f64::from(count) - 0.5;
                used_inside += i32::from(off.abs() <= b.utilisation_error().unwrap());
                let rate = lost / all;
                let half = Z90 * b.loss_events(rate).unwrap().powf(-0.5);
                lost_inside += i32::from((rate / 0.02 - 1.0).abs() <= half);
            }
            assert!(
                (1740..=1860).contains(&used_inside),
                "{count}: {used_inside}"
            );
            assert!(
                (1740..=1860).contains(&lost_inside),
                "{count}: {lost_inside}"
            );
        }
    }

    #[test]
    fn few_batches_and_no_loss_say_nothing() {
        let mut b = Batches::default();
        for i in 0..4 {
            b.take(f64::from(i), 100.0, 0.9);
        }
        assert_eq!((b.loss_events(0.01), b.utilisation_error()), (None, None));
        let mut none = Batches::default();
        (0..9).for_each(|_| none.take(0.0, 100.0, 1.0));
        assert_eq!(none.loss_events(0.0), None);
        assert!(none.utilisation_error().unwrap() < 1e-6);
    }
}
