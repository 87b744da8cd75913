// SPDX-License-Identifier: Apache-2.0
//! Utilisation and delay at another limit.

use super::conditions::{occupancy_known, scalable};
use super::learned::utilisation_between;
use super::uncertainty::{
    PRIOR_EVENTS, UTILISATION_BETWEEN_RUNS, Z90, exponents, loss_events, utilisation_sampling_error,
};
use super::window_peak::{ALL_AT_ONCE, FULL, ONE_FLOW, Peak};
use super::window_samples::{Means, Sample, means, samples, sawtooth_samples};
use crate::bisection::smallest_between;
use crate::bscl;
use crate::error::{RuleError, not_negative};
use crate::range::Range;
use crate::sawtooth::sawtooth;
use crate::traffic::Traffic;

/// Relative error of the utilisation that a limit tried before had.
const TRIED_ERROR: f64 = 0.01;

/// Lowest window over the peak of one flow, as likely and at its lowest: it may lose
/// again right after it halved. Utilisation of one Reno flow at 0.4, 0.53 and 0.7 C·T,
/// 86.0, 92.7 and 96.4 % on a real link, is that of a swing from 0.4 of the peak;
/// simulated runs at 0.36 to 1.0 C·T lie between those from 0.35 and from 0.5.
const ONE_AGAIN: Range = Range {
    value: 0.4,
    low: 0.35,
    high: ALL_AT_ONCE,
};

/// The measured window, scaled.
#[derive(Clone, Debug)]
pub struct WindowScaling<'a> {
    pub(super) m: &'a Traffic,
    pub(super) peak: Peak,
    samples: Vec<Sample>,
    /// Part of the capacity that others use.
    others: f64,
    utilisation: f64,
    pub(super) delay_mean_ms: f64,
    pub(super) there: Means,
}

impl<'a> WindowScaling<'a> {
    /// `None` where a condition fails or an input is missing.
    pub fn of(m: &'a Traffic) -> Option<Self> {
        if !scalable(m) || !occupancy_known(m) {
            return None;
        }
        let peak = Peak::of(m, m.t_e_s.value)?;
        Self::with(m, peak, m.c_e_share.value)
    }

    /// The same at every peak that Tₑ and bursts leave possible.
    fn possible(&self, t_e_s: f64, lbp_share: f64) -> impl Iterator<Item = Self> {
        let peaks = Peak::of(self.m, t_e_s).into_iter();
        let all = peaks.flat_map(|peak| peak.possible(self.m));
        all.filter_map(move |peak| Self::with(self.m, peak, lbp_share))
    }

    pub(super) fn with(m: &'a Traffic, peak: Peak, lbp_share: f64) -> Option<Self> {
        let observed = m.observed?;
        let occupancy = m.occupancy.as_ref()?;
        let utilisation = observed.utilisation.min(1.0);
        if utilisation.is_nan() || utilisation <= 0.0 {
            return None;
        }
        let others = (utilisation - lbp_share).clamp(0.0, 0.9);
        let samples = samples(occupancy, peak, utilisation, others);
        let there = means(&samples, others, 1.0)?;
        Some(Self {
            m,
            peak,
            samples,
            others,
            utilisation,
            delay_mean_ms: observed.delay_mean_ms,
            there,
        })
    }

    pub(super) fn at_scale(&self, k: f64) -> Option<Means> {
        means(&self.samples, self.others, k)
    }

    /// Utilisation at a scale: what is idle above the limit in force, and what is
    /// used below it, in proportion, so that there it is exactly what was
    /// measured.
    fn utilisation_of(&self, means: &Means) -> f64 {
        let (now, there) = (self.utilisation, self.there.utilisation);
        if means.utilisation <= there {
            return now * means.utilisation / there;
        }
        let idle = (1.0 - means.utilisation).max(0.0) / (1.0 - there).max(1e-9);
        1.0 - (1.0 - now) * idle.min(1.0)
    }

    /// Utilisation when the aggregate window falls to `lowest` of its peak in
    /// every loss event, not above `scaled`.
    fn falling_to(&self, lowest: f64, k: f64, scaled: f64) -> f64 {
        let peak = k * self.peak.over_bdp();
        match sawtooth(lowest * peak, peak) {
            Ok(s) => (self.others + (1.0 - self.others) * s.utilisation).min(scaled),
            Err(_) => scaled,
        }
    }

    /// Lowest window over its peak after a loss event that was not seen: of N_b
    /// flows as many halve as lose by BSCL eq. 13, and by the upper end of what
    /// is drawn (binomial). All of them where N_b is small.
    fn lowest_unseen(&self) -> f64 {
        let n_b = self.m.n_b.value.max(1.0);
        if n_b < ONE_FLOW {
            return ONE_AGAIN.value;
        }
        let burst = (self.m.alpha.value * n_b).max(1.0);
        let q = bscl::loss_fraction(n_b, burst).unwrap_or(1.0);
        let drawn = q + Z90 * (q * (1.0 - q) / n_b).sqrt();
        1.0 - drawn.min(1.0) * (1.0 - ALL_AT_ONCE)
    }

    /// Deviation of the utilisation over time. Of a few flows those seen may by
    /// chance not have fallen far: with them count [`PRIOR_EVENTS`] sawteeth that do.
    fn deviation_of(&self, seen: &Means, k: f64) -> f64 {
        if self.m.n_b.value >= bscl::FEW_FLOWS {
            return seen.deviation;
        }
        let teeth = sawtooth_samples(self.lowest_possible(), k * self.peak.over_bdp());
        let Some(fallen) = means(&teeth, self.others, 1.0) else {
            return seen.deviation;
        };
        let events = loss_events(self.m);
        let sum = events * seen.deviation.powi(2) + PRIOR_EVENTS * fallen.deviation.powi(2);
        (sum / (events + PRIOR_EVENTS)).sqrt()
    }

    /// Lowest window over its peak after any loss event.
    fn lowest_possible(&self) -> f64 {
        if self.m.n_b.value < ONE_FLOW {
            ONE_AGAIN.low
        } else {
            ALL_AT_ONCE
        }
    }

    fn expected(&self, k: f64) -> f64 {
        let scaled = self.utilisation_of(&self.at_scale(k).unwrap_or(self.there));
        let exponent = 2.0 * (1.0 + PRIOR_EVENTS / loss_events(self.m));
        let unknown = (1.0 - k.powf(exponent)).max(0.0);
        let unseen = self.falling_to(self.lowest_unseen(), k, scaled);
        let heeding = scaled - unknown * (scaled - unseen);
        let staying = self.m.model_based_share.clamp(0.0, 1.0);
        heeding + staying * (self.utilisation - heeding)
    }

    /// Ends of the utilisation at a limit, by what limits tried before had. What
    /// was measured at the limit in force is not overruled.
    fn between(&self, buffer_bytes: f64) -> [f64; 2] {
        let [least, most] = utilisation_between(self.m, buffer_bytes);
        if buffer_bytes < self.peak.limit_bytes {
            [least.min(self.utilisation), 1.0]
        } else {
            [0.0, most.max(self.utilisation)]
        }
    }

    /// Utilisation expected at a limit.
    ///
    /// # Errors
    /// `buffer_bytes` below 0.
    pub fn utilisation_at(&self, buffer_bytes: f64) -> Result<f64, RuleError> {
        let b = not_negative("B (bytes)", buffer_bytes)?;
        let [least, most] = self.between(b);
        Ok(self.expected(self.peak.scale(b)).clamp(least, most))
    }

    /// The same with the range left by the number of loss events seen, Tₑ, Cₑ
    /// and the exponent.
    pub fn range_at(&self, buffer_bytes: f64) -> Result<Range, RuleError> {
        let value = self.utilisation_at(buffer_bytes)?;
        let (mut low, mut high) = (value, value);
        let error = utilisation_sampling_error(self.m);
        for t_e_s in [self.m.t_e_s.low, self.m.t_e_s.value, self.m.t_e_s.high] {
            let shares = [self.m.c_e_share.low, self.m.c_e_share.high];
            for other in shares.iter().flat_map(|&s| self.possible(t_e_s, s)) {
                for exponent in exponents(self.m) {
                    let k = other.peak.scale(buffer_bytes).powf(exponent);
                    let Some(means) = other.at_scale(k) else {
                        continue;
                    };
                    let u = other.utilisation_of(&means);
                    let deviation = other.deviation_of(&means, k);
                    // One flow's next sawteeth are others at the same limit, too.
                    let least = if k < 1.0 || self.m.n_b.value < ONE_FLOW {
                        other.falling_to(self.lowest_possible(), k, u)
                    } else {
                        u
                    };
                    let stays = self.m.model_based_share > 0.0;
                    let most = if stays { u.max(self.utilisation) } else { u };
                    low = low.min(least - error * deviation);
                    if k > 1.0 {
                        // Idle time of recoveries and timeouts: fewer losses, but
                        // not none.
                        low = low.min(1.0 - (1.0 - other.utilisation) / k);
                    }
                    high = high.max(most + error * deviation);
                }
            }
        }
        let few = self.m.n_b.value < bscl::FEW_FLOWS;
        let sampled = if few {
            error * self.deviation_of(&self.there, 1.0)
        } else {
            0.0
        };
        let tried = self.between(buffer_bytes)[0] * (1.0 - sampled.max(TRIED_ERROR));
        let low = low.max(tried).min(value - UTILISATION_BETWEEN_RUNS);
        let high = high.max(value + UTILISATION_BETWEEN_RUNS);
        Ok(Range::new(value, low.max(0.0), high.min(1.0)))
    }

    /// Smallest buffer with an expected utilisation of `target` (of [`FULL`]
    /// where more is asked), up to `largest_bytes`; `None` when that is not
    /// enough.
    pub fn buffer_for(&self, target: f64, largest_bytes: f64) -> Option<f64> {
        let target = target.min(FULL);
        let meets = |b: f64| self.utilisation_at(b).is_ok_and(|u| u >= target - 1e-12);
        if meets(0.0) {
            return Some(0.0);
        }
        if !meets(largest_bytes) {
            return None;
        }
        Some(smallest_between((0.0, largest_bytes), 60, meets))
    }

    /// Lowest aggregate window over the peak, as measured: its 5th percentile
    /// over rounds.
    pub fn lowest_over_peak(&self) -> f64 {
        let total: f64 = self.samples.iter().map(|s| s.rounds).sum();
        let mut sorted: Vec<&Sample> = self.samples.iter().collect();
        sorted.sort_by(|a, b| a.window.total_cmp(&b.window));
        let mut before = 0.0;
        let peak = self.peak.over_bdp();
        for s in sorted {
            before += s.rounds;
            if before >= 0.05 * total {
                return (s.window / peak).min(1.0);
            }
        }
        1.0
    }
}
