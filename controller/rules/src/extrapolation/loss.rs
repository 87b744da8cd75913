// SPDX-License-Identifier: Apache-2.0
//! The loss rate at another limit.

use super::conditions::scalable;
use super::uncertainty::{exponents, loss_sampling_error, model_based};
use super::window_peak::Peak;
use crate::error::{RuleError, not_negative, positive};
use crate::range::Range;
use crate::traffic::Traffic;

/// The measured loss rate, scaled.
#[derive(Clone, Debug)]
pub struct LossScaling<'a> {
    m: &'a Traffic,
    peak: Peak,
    loss_rate: f64,
    parts: Parts,
}

/// What the drops are made of, parts of all.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Parts {
    /// Of overshoots of slow start.
    overshoots: f64,
    /// Of flows that follow a model of the path.
    model_based: f64,
}

impl Parts {
    fn of(m: &Traffic) -> Self {
        let drops = m.observed.map_or(0, |o| o.drops).max(1) as f64;
        let model_based = model_based(m);
        Self {
            overshoots: (m.overshoot_drops as f64 / drops).min(1.0 - model_based),
            model_based,
        }
    }

    /// As counted; all scale; and, where flows follow a model, all stay: the
    /// others take what those leave.
    fn possible(self) -> impl Iterator<Item = Self> {
        let part = |model_based| Self {
            overshoots: 0.0,
            model_based,
        };
        let stay = (self.model_based > 0.0).then(|| part(1.0));
        [self, part(0.0)].into_iter().chain(stay)
    }

    /// Of flows that multiply their windows down.
    fn decreases(self) -> f64 {
        1.0 - self.overshoots - self.model_based
    }

    /// p'/p where windows are k times as large: drops of decreases go with 1/k²
    /// (BSCL eq. 2), those of overshoots do not grow with smaller windows, those
    /// of flows that follow a model stay.
    fn scale(self, k: f64, exponent: f64) -> f64 {
        let factor = k.powf(-2.0 * exponent);
        self.decreases() * factor + self.overshoots * factor.min(1.0) + self.model_based
    }
}

/// Windows at a limit over those at the limit in force: the flows' rates add up
/// to the capacity at either, N·w/Σ(Tᵢ + B/C)⁻¹ (BSCL eq. 8, 9), with the base RTTs
/// `stretch` times as long.
fn window_scale(m: &Traffic, peak: Peak, stretch: f64, buffer_bytes: f64) -> f64 {
    let drain = m.drain_bytes_per_s();
    let rates = |bytes: f64| -> f64 {
        m.base_rtts_s
            .iter()
            .filter(|&&t| t > 0.0)
            .map(|t| 1.0 / (t * stretch + bytes / drain))
            .sum()
    };
    let (here, there) = (rates(buffer_bytes), rates(peak.limit_bytes));
    if here > 0.0 && there > 0.0 && here.is_finite() {
        there / here
    } else {
        peak.scale(buffer_bytes)
    }
}

impl<'a> LossScaling<'a> {
    /// `None` where a condition fails or an input is missing.
    pub fn of(m: &'a Traffic) -> Option<Self> {
        let observed = m.observed?;
        let loss_rate = observed.loss_rate;
        let peak = Peak::of(m, m.t_e_s.value)?;
        (scalable(m) && loss_rate > 0.0).then_some(Self {
            m,
            peak,
            loss_rate,
            parts: Parts::of(m),
        })
    }

    /// Loss rate expected at a limit.
    ///
    /// # Errors
    /// `buffer_bytes` below 0.
    pub fn loss_at(&self, buffer_bytes: f64) -> Result<f64, RuleError> {
        let b = not_negative("B (bytes)", buffer_bytes)?;
        Ok((self.loss_rate * self.parts.scale(self.scale(b), 1.0)).min(1.0))
    }

    fn scale(&self, buffer_bytes: f64) -> f64 {
        window_scale(self.m, self.peak, 1.0, buffer_bytes)
    }

    /// The same with the range left by the sampling error of the measurement,
    /// Tₑ, the exponent, and which of the drops scale.
    ///
    /// # Errors
    /// As [`Self::loss_at`].
    pub fn range_at(&self, buffer_bytes: f64) -> Result<Range, RuleError> {
        let value = self.loss_at(buffer_bytes)?;
        let error = loss_sampling_error(self.m);
        let (mut low, mut high) = (value, value);
        for t_e_s in [self.m.t_e_s.low, self.m.t_e_s.high] {
            let Some(peak) = Peak::of(self.m, t_e_s) else {
                continue;
            };
            for exponent in exponents(self.m) {
                for parts in self.parts.possible() {
                    let stretch = t_e_s / self.m.t_e_s.value;
                    let k = window_scale(self.m, peak, stretch, buffer_bytes);
                    let p = self.loss_rate * parts.scale(k, exponent);
                    low = low.min(p);
                    high = high.max(p);
                }
            }
        }
        Ok(Range::new(
            value,
            (low * (1.0 - error)).max(0.0),
            (high * (1.0 + error)).min(1.0),
        ))
    }

    /// K of B = K·M·N_b/√(p − p_o − p_m) − C·Tₑ (BSCL eq. 21-22 have 0.87, no p_o
    /// and p_m, and Cₑ·Tₑ).
    pub fn constant(&self) -> f64 {
        (self.loss_rate * self.parts.decreases()).sqrt()
            * (self.peak.bdp_bytes + self.peak.limit_bytes)
            / (self.m.segment_bytes * self.m.n_b.value)
    }

    /// Loss rate of overshoots, p_o.
    pub fn overshoot_rate(&self) -> f64 {
        self.loss_rate * self.parts.overshoots
    }

    /// Loss rate of flows that follow a model of the path, p_m.
    pub fn model_based_rate(&self) -> f64 {
        self.loss_rate * self.parts.model_based
    }

    /// Smallest buffer with an expected loss rate within `bound`, bytes; below 0
    /// when none is needed, `None` when flows that follow a model of the path lose
    /// more than that whatever the buffer. `conservative` takes the measured loss
    /// rate at the upper end of its sampling error.
    ///
    /// # Errors
    /// `bound` not above 0.
    pub fn buffer_for(&self, bound: f64, conservative: bool) -> Result<Option<f64>, RuleError> {
        let bound = positive("p (loss bound)", bound)?;
        let p = if conservative {
            self.loss_rate * (1.0 + loss_sampling_error(self.m))
        } else {
            self.loss_rate
        };
        let left = bound - p * self.parts.model_based;
        if left <= 0.0 && self.parts.model_based > 0.0 {
            return Ok(None);
        }
        let k = if bound < p {
            (p * (1.0 - self.parts.model_based) / left).sqrt()
        } else {
            let left = (left - p * self.parts.overshoots).max(f64::MIN_POSITIVE);
            (p * self.parts.decreases() / left).sqrt()
        };
        Ok(Some(self.buffer_at_scale(k)))
    }

    /// The buffer at which windows are `k` times as large.
    fn buffer_at_scale(&self, k: f64) -> f64 {
        let peak = self.peak.bdp_bytes + self.peak.limit_bytes;
        let least = self.scale(0.0);
        if k <= least {
            return (k - least) * peak;
        }
        let (mut low, mut high) = (0.0, peak);
        while self.scale(high) < k {
            (low, high) = (high, 2.0 * high);
        }
        for _ in 0..80 {
            let middle = 0.5 * (low + high);
            if self.scale(middle) < k {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }
}
