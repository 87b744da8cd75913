// SPDX-License-Identifier: Apache-2.0
//! The loss rate at another limit.

use super::conditions::scalable;
use super::law::{Deviation, FlowWindow, flow_window};
use super::learned::{Steepness, steepness};
use super::loss_parts::{Limits, Parts};
use super::uncertainty::loss_sampling_error_at;
use super::window_peak::Peak;
use tidemark_rules::error::{RuleError, not_negative};
use tidemark_rules::range::Range;
use tidemark_rules::traffic::Traffic;

/// The measured loss rate, scaled.
#[derive(Clone, Debug)]
pub struct LossScaling<'a> {
    m: &'a Traffic,
    peak: Peak,
    loss_rate: f64,
    parts: Parts,
    /// Correction by the results of other limits.
    steepness: Steepness,
}

impl<'a> LossScaling<'a> {
    /// Returns `None` if a condition fails or an input is missing.
    pub fn of(m: &'a Traffic) -> Option<Self> {
        let observed = m.observed?;
        let loss_rate = observed.loss_rate;
        let peak = Peak::of(m, m.t_e_s.value)?;
        let mut scaling = (scalable(m) && loss_rate > 0.0).then_some(Self {
            m,
            peak,
            loss_rate,
            parts: Parts::of(m),
            steepness: Steepness::of_the_law(),
        })?;
        scaling.steepness = steepness(m, loss_rate, |bytes, by| scaling.factor(bytes, by));
        Some(scaling)
    }

    /// Returns the expected loss rate at a limit.
    ///
    /// # Errors
    /// `buffer_bytes` below 0.
    pub fn loss_at(&self, buffer_bytes: f64) -> Result<f64, RuleError> {
        let buffer_bytes = not_negative("B (bytes)", buffer_bytes)?;
        Ok((self.loss_rate * self.factor(buffer_bytes, 0.0)).min(1.0))
    }

    /// Returns p'/p at a limit.
    fn factor(&self, buffer_bytes: f64, by: Deviation) -> f64 {
        self.scaled(self.parts, self.peak, 1.0, buffer_bytes, by)
    }

    fn scaled(
        &self,
        parts: Parts,
        peak: Peak,
        stretch: f64,
        buffer_bytes: f64,
        by: Deviation,
    ) -> f64 {
        let to = self.window(peak, stretch, buffer_bytes);
        let from = self.window(peak, stretch, peak.limit_bytes);
        let (s, loss_rate) = (self.steepness, self.loss_rate);
        let limit = Limits {
            buffer_bytes,
            loss_rate,
        };
        parts.scale(from, to, s.exponent, by * s.spread, limit)
    }

    fn window(&self, peak: Peak, stretch: f64, buffer_bytes: f64) -> FlowWindow {
        flow_window(self.m, peak, stretch, buffer_bytes)
    }

    /// Returns the expected loss rate with the range of a measurement of the same duration: due to
    /// the sampling errors of both measurements, Tₑ, the exponent, and the share of drops that
    /// scale.
    pub fn range_at(&self, buffer_bytes: f64) -> Result<Range, RuleError> {
        let value = self.loss_at(buffer_bytes)?;
        let error = loss_sampling_error_at(self.m, value / self.loss_rate);
        let law = self.law_range_at(buffer_bytes)?;
        // Independent relative errors.
        let apart = |end: f64| (end / value).ln().hypot(error).exp();
        Ok(match value > 0.0 {
            true => Range::new(
                value,
                value / apart(law.low),
                (value * apart(law.high)).min(1.0),
            ),
            false => law,
        })
    }

    /// Returns the range due to Tₑ, the exponent, and the share of drops that scale: the
    /// uncertainty of the change from the measured loss rate.
    pub(crate) fn law_range_at(&self, buffer_bytes: f64) -> Result<Range, RuleError> {
        let value = self.loss_at(buffer_bytes)?;
        let mut range = Range::exact(value);
        let smaller = buffer_bytes < self.peak.limit_bytes;
        for t_e_s in [self.m.t_e_s.low, self.m.t_e_s.high] {
            let Some(peak) = Peak::of(self.m, t_e_s) else {
                continue;
            };
            let stretch = t_e_s / self.m.t_e_s.value;
            for peak in peak.possible(self.m) {
                for by in [-1.0, 1.0] {
                    for parts in self.parts.possible(smaller) {
                        let p =
                            self.loss_rate * self.scaled(parts, peak, stretch, buffer_bytes, by);
                        range.widen(p.min(1.0));
                    }
                }
            }
        }
        Ok(range)
    }
}
