// SPDX-License-Identifier: Apache-2.0
//! The loss rate at another limit.

use super::conditions::scalable;
use super::law::{Deviation, FlowWindow, flow_window};
use super::learned::{Steepness, loss_between, steepness};
use super::loss_parts::{Limits, Parts};
use super::uncertainty::{loss_sampling_error, loss_sampling_error_at};
use super::window_peak::Peak;
use crate::bisection::smallest_between;
use crate::error::{RuleError, not_negative, positive};
use crate::range::Range;
use crate::traffic::Traffic;

/// Largest buffer looked at, over what flows have in flight at the limit in force.
const LARGEST: f64 = 1e4;

/// The measured loss rate, scaled.
#[derive(Clone, Debug)]
pub struct LossScaling<'a> {
    m: &'a Traffic,
    peak: Peak,
    loss_rate: f64,
    parts: Parts,
    /// By what other limits did.
    steepness: Steepness,
}

impl<'a> LossScaling<'a> {
    /// `None` where a condition fails or an input is missing.
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

    /// Loss rate expected at a limit.
    ///
    /// # Errors
    /// `buffer_bytes` below 0.
    pub fn loss_at(&self, buffer_bytes: f64) -> Result<f64, RuleError> {
        Ok(self.expected_at(not_negative("B (bytes)", buffer_bytes)?))
    }

    /// By the law, between what other limits did.
    fn expected_at(&self, buffer_bytes: f64) -> f64 {
        let [least, most] = loss_between(self.m, self.loss_rate, buffer_bytes);
        // Not `clamp`: what was saved of a limit tried may be no loss rate.
        let by_law = self.loss_rate * self.factor(buffer_bytes, 0.0);
        by_law.max(least).min(most)
    }

    /// p'/p at a limit.
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

    /// The same with the range of what will be measured there in as long a time:
    /// by the sampling errors of both measurements, Tₑ, the exponent, and which of
    /// the drops scale.
    pub fn range_at(&self, buffer_bytes: f64) -> Result<Range, RuleError> {
        let value = self.loss_at(buffer_bytes)?;
        let error = loss_sampling_error_at(self.m, value / self.loss_rate);
        let law = self.law_range_at(buffer_bytes)?;
        // Independent of each other, and relative.
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

    /// The range that Tₑ, the exponent, and which of the drops scale leave: what
    /// is uncertain of a change from the loss rate as measured.
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

    /// K of p − p_o − p_m = (K·M·N_b/(C·Tₑ + B))² at the limit in force (BSCL eq.
    /// 18 has 0.87, no p_o and p_m, and Cₑ·Tₑ).
    pub fn constant(&self) -> f64 {
        (self.loss_rate * self.parts.decreases()).sqrt()
            * (self.peak.bdp_bytes + self.peak.limit_bytes)
            / (self.m.segment_bytes * self.m.n_b.value)
    }

    /// Window of each LBP flow at the limit in force, segments.
    pub fn window_pkts(&self) -> f64 {
        self.window(self.peak, 1.0, self.peak.limit_bytes).segments
    }

    /// Exponent of the law, by what other limits did; 1 without any.
    pub fn exponent(&self) -> f64 {
        self.steepness.exponent
    }

    /// Loss rate of overshoots, p_o.
    pub fn overshoot_rate(&self) -> f64 {
        self.loss_rate * self.parts.overshoots
    }

    /// Loss rate of flows that follow a model of the path, p_m.
    pub fn model_based_rate(&self) -> f64 {
        self.loss_rate * self.parts.model_based
    }

    /// What of it no buffer takes away.
    pub fn model_based_rate_anywhere(&self) -> f64 {
        self.loss_rate * self.parts.model_based_anywhere()
    }

    /// Smallest buffer with an expected loss rate within `bound`, bytes; below 0
    /// when none is needed, `None` when no buffer keeps it: flows that follow a
    /// model of the path lose more than that, or the flows' loss hardly falls.
    /// `conservative` takes the measured loss rate at the upper end of its
    /// sampling error.
    ///
    /// # Errors
    /// `bound` not above 0.
    pub fn buffer_for(&self, bound: f64, conservative: bool) -> Result<Option<f64>, RuleError> {
        let bound = positive("p (loss bound)", bound)?;
        let error = if conservative {
            loss_sampling_error(self.m)
        } else {
            0.0
        };
        let loss = |b: f64| (1.0 + error) * self.expected_at(b);
        let peak = self.peak.bdp_bytes + self.peak.limit_bytes;
        let none = loss(0.0);
        if none <= bound {
            return Ok(Some((none / bound - 1.0) * peak));
        }
        let (mut low, mut high) = (0.0, 0.01 * peak);
        while loss(high) > bound {
            if high > LARGEST * peak {
                return Ok(None);
            }
            (low, high) = (high, 1.25 * high);
        }
        let keeps = |b: f64| loss(b) <= bound;
        Ok(Some(smallest_between((low, high), 80, keeps)))
    }
}
