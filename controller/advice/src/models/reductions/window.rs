// SPDX-License-Identifier: Apache-2.0
//! Utilisation and delay at another limit, by the scaled window.

use super::conditions::{occupancy_known, scalable};
use super::uncertainty::{PRIOR_EVENTS, exponents, utilisation_sampling_error};
use super::window_peak::{ALL_AT_ONCE, ONE_FLOW, Peak};
use super::window_samples::{Means, Sample, means, samples, sawtooth_samples};
use crate::models::sampling::{UTILISATION_BETWEEN_RUNS, Z90};
use tidemark_rules::bscl;
use tidemark_rules::error::{RuleError, not_negative};
use tidemark_rules::range::Range;
use tidemark_rules::sawtooth::sawtooth;
use tidemark_rules::traffic::Traffic;

/// Lowest window of a single flow over its peak, most likely and lowest value: it may lose again
/// right after it halved. Utilisation of one Reno flow at 0.4, 0.53 and 0.7 C·T, 86.0, 92.7 and
/// 96.4 % on a real link, is that of a swing from 0.4 of the peak; simulated runs at 0.36 to 1.0
/// C·T lie between swings from 0.35 and from 0.5.
const ONE_AGAIN: Range = Range {
    value: 0.4,
    low: 0.35,
    high: ALL_AT_ONCE,
};

/// Largest power of the expected factor by which idle time may fall with more buffer: simulated
/// H-TCP, YeAH, Hybla and HighSpeed at a quarter of C·T and at half have powers of 1.7 to 2.3.
const STEEPER: f64 = 2.5;

/// The measured window, scaled.
#[derive(Clone, Debug)]
pub struct WindowScaling<'a> {
    pub(super) m: &'a Traffic,
    pub(super) peak: Peak,
    samples: Vec<Sample>,
    /// Part of the capacity that other flows use.
    others: f64,
    utilisation: f64,
    pub(super) delay_mean_ms: f64,
    pub(super) there: Means,
}

impl<'a> WindowScaling<'a> {
    /// Returns `None` if a condition fails or an input is missing.
    pub fn of(m: &'a Traffic) -> Option<Self> {
        if !scalable(m) || !occupancy_known(m) {
            return None;
        }
        let peak = Peak::of(m, m.t_e_s.value)?;
        Self::with(m, peak, m.c_e_share.value)
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

    /// Returns the utilisation at a scale: idle time in proportion above the limit in force, used
    /// time in proportion below it, so that the value at the limit in force is exactly the measured
    /// one.
    fn utilisation_of(&self, means: &Means) -> f64 {
        let (now, there) = (self.utilisation, self.there.utilisation);
        if means.utilisation <= there {
            return now * means.utilisation / there;
        }
        let idle = (1.0 - means.utilisation).max(0.0) / (1.0 - there).max(1e-9);
        1.0 - (1.0 - now) * idle.min(1.0)
    }

    /// Returns the utilisation if the aggregate window falls to `lowest` of its peak in every loss
    /// event, at most `scaled`.
    fn falling_to(&self, lowest: f64, k: f64, scaled: f64) -> f64 {
        let peak = k * self.peak.over_bdp();
        match sawtooth(lowest * peak, peak) {
            Ok(s) => (self.others + (1.0 - self.others) * s.utilisation).min(scaled),
            Err(_) => scaled,
        }
    }

    /// Returns the lowest window over its peak after an unseen loss event: of N_b flows, as many
    /// halve as lose by BSCL eq. 13, at the upper end of the (binomial) sampling range; all of them
    /// if N_b is small.
    fn lowest_unseen(&self, deviations: f64) -> f64 {
        let n_b = self.m.n_b.value.max(1.0);
        if n_b < ONE_FLOW {
            return ONE_AGAIN.value;
        }
        let burst = (self.m.alpha.value * n_b).max(1.0);
        let q = bscl::loss_fraction(n_b, burst).unwrap_or(1.0);
        let drawn = q + deviations * (q * (1.0 - q) / n_b).sqrt();
        1.0 - drawn.min(1.0) * (1.0 - ALL_AT_ONCE)
    }

    /// Returns the deviation of the utilisation over time. With a few flows the sawteeth seen may
    /// by chance be shallow: [`PRIOR_EVENTS`] deep sawteeth are added to them.
    fn deviation_of(&self, seen: &Means, k: f64) -> f64 {
        if self.m.n_b.value >= bscl::FEW_FLOWS {
            return seen.deviation;
        }
        let teeth = sawtooth_samples(self.lowest_possible(), k * self.peak.over_bdp());
        let Some(fallen) = means(&teeth, self.others, 1.0) else {
            return seen.deviation;
        };
        let events = self.m.loss_events();
        let sum = events * seen.deviation.powi(2) + PRIOR_EVENTS * fallen.deviation.powi(2);
        (sum / (events + PRIOR_EVENTS)).sqrt()
    }

    /// Returns the lowest window over its peak after any loss event.
    fn lowest_possible(&self) -> f64 {
        match self.m.n_b.value {
            n if n < ONE_FLOW => ONE_AGAIN.low,
            n if n < bscl::FEW_FLOWS => ALL_AT_ONCE,
            _ => self.lowest_unseen(2.0 * Z90),
        }
    }

    fn expected(&self, k: f64) -> f64 {
        let scaled = self.utilisation_of(&self.at_scale(k).unwrap_or(self.there));
        let exponent = 2.0 * (1.0 + PRIOR_EVENTS / self.m.loss_events());
        let unknown = (1.0 - k.powf(exponent)).max(0.0);
        let unseen = self.falling_to(self.lowest_unseen(Z90), k, scaled);
        let heeding = scaled - unknown * (scaled - unseen);
        let staying = self.m.model_based_share.clamp(0.0, 1.0);
        heeding + staying * (self.utilisation - heeding)
    }

    /// Returns the expected utilisation at a limit.
    ///
    /// # Errors
    /// `buffer_bytes` below 0.
    pub fn utilisation_at(&self, buffer_bytes: f64) -> Result<f64, RuleError> {
        let b = not_negative("B (bytes)", buffer_bytes)?;
        Ok(self.expected(self.peak.scale(b)))
    }
}

/// The scaled window for all possible values of Tₑ, Cₑ and bursts.
#[derive(Clone, Debug)]
pub struct WindowRange<'a> {
    own: WindowScaling<'a>,
    possible: Vec<WindowScaling<'a>>,
}

impl<'a> WindowRange<'a> {
    /// Returns `None` if a condition fails or an input is missing.
    pub fn of(m: &'a Traffic) -> Option<Self> {
        let own = WindowScaling::of(m)?;
        let mut possible = Vec::new();
        for t_e_s in [m.t_e_s.low, m.t_e_s.value, m.t_e_s.high] {
            for share in [m.c_e_share.low, m.c_e_share.high] {
                let peaks = Peak::of(m, t_e_s).into_iter();
                let all = peaks.flat_map(|peak| peak.possible(m));
                possible.extend(all.filter_map(|peak| WindowScaling::with(m, peak, share)));
            }
        }
        Some(Self { own, possible })
    }

    /// Returns the expected utilisation at a limit, with the range due to the number of loss events
    /// seen, Tₑ, Cₑ and the exponent.
    ///
    /// # Errors
    /// `buffer_bytes` below 0.
    pub fn range_at(&self, buffer_bytes: f64) -> Result<Range, RuleError> {
        let (m, used) = (self.own.m, self.own.utilisation);
        let value = self.own.utilisation_at(buffer_bytes)?;
        let (mut low, mut high) = (value, value);
        let error = utilisation_sampling_error(m);
        for other in &self.possible {
            for exponent in exponents(m) {
                let k = other.peak.scale(buffer_bytes).powf(exponent);
                let Some(means) = other.at_scale(k) else {
                    continue;
                };
                let u = other.utilisation_of(&means);
                let deviation = other.deviation_of(&means, k);
                // A single flow's next sawteeth differ even at the same limit.
                let least = if k < 1.0 || m.n_b.value < ONE_FLOW {
                    other.falling_to(self.own.lowest_possible(), k, u)
                } else {
                    u
                };
                let stays = m.model_based_share > 0.0;
                let most = if stays { u.max(used) } else { u };
                low = low.min(least - error * deviation);
                if k > 1.0 {
                    // Idle time of recoveries and timeouts: fewer losses, but
                    // not none.
                    low = low.min(1.0 - (1.0 - other.utilisation) / (k * k));
                }
                high = high.max(most + error * deviation);
            }
        }
        let low = low.min(value - UTILISATION_BETWEEN_RUNS);
        let left = ((1.0 - value) / (1.0 - used).max(f64::MIN_POSITIVE)).min(1.0);
        let steepest = 1.0 - (1.0 - used) * left.powf(STEEPER);
        let high = high.max(value + UTILISATION_BETWEEN_RUNS).max(steepest);
        Ok(Range::new(value, low.max(0.0), high.min(1.0)))
    }

    /// Returns the expected mean queueing delay at a limit, ms, with its range.
    pub fn mean_delay_range_ms_at(&self, buffer_bytes: f64) -> Result<Range, RuleError> {
        self.own.mean_delay_range_ms_at(buffer_bytes)
    }
}
