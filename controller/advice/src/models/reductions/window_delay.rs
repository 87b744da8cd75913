// SPDX-License-Identifier: Apache-2.0
//! Mean queueing delay at another limit.

use super::uncertainty::exponents;
use super::window::WindowScaling;
use super::window_peak::Peak;
use super::window_samples::Means;
use crate::models::sampling::DELAY_BETWEEN_RUNS;
use tidemark_rules::error::{RuleError, not_negative};
use tidemark_rules::range::Range;

/// Part of the exponent's error that applies to the mean delay. With all of it, every mean delay of
/// five and more simulated flows is in range unless Tₑ is unknown.
const OF_DELAY: f64 = 0.7;

impl WindowScaling<'_> {
    /// Returns the expected mean queueing delay at a limit, ms.
    pub fn mean_delay_ms_at(&self, buffer_bytes: f64) -> Result<f64, RuleError> {
        let b = not_negative("B (bytes)", buffer_bytes)?;
        let means = self.at_scale(self.peak.scale(b)).unwrap_or(self.there);
        Ok(self.delay_of(&means))
    }

    fn delay_of(&self, means: &Means) -> f64 {
        let more = (means.queue_bdp - self.there.queue_bdp) * self.peak.bdp_bytes
            / self.m.drain_bytes_per_s();
        (self.delay_mean_ms + more * 1e3).max(0.0)
    }

    /// Returns the expected mean queueing delay at a limit with its range.
    pub fn mean_delay_range_ms_at(&self, buffer_bytes: f64) -> Result<Range, RuleError> {
        let value = self.mean_delay_ms_at(buffer_bytes)?;
        let at = |peak: Peak, exponent: f64| {
            let other = Self::with(self.m, peak, self.m.c_e_share.value)?;
            let means = other.at_scale(peak.scale(buffer_bytes).powf(exponent))?;
            Some(other.delay_of(&means))
        };
        let (mut less, mut more) = (0.0f64, 0.0f64);
        // Independent errors.
        let mut apart = |delays: [Option<f64>; 2]| {
            let off = delays.map(|d| d.map_or(0.0, |d| d - value));
            less = less.hypot(off[0].min(off[1]).min(0.0));
            more = more.hypot(off[0].max(off[1]).max(0.0));
        };
        let t_e_s = self.m.t_e_s;
        apart([t_e_s.low, t_e_s.high].map(|t| at(Peak::of(self.m, t)?, 1.0)));
        let exponents = exponents(self.m).map(|e| 1.0 + OF_DELAY * (e - 1.0));
        apart(exponents.map(|e| at(self.peak, e)));
        apart([
            None,
            self.peak.possible(self.m).last().and_then(|p| at(p, 1.0)),
        ]);
        let between = DELAY_BETWEEN_RUNS * value;
        let (less, more) = (less.hypot(between), more.hypot(between));
        let (low, high) = ((value - less).max(0.0), value + more);
        Ok(Range::new(value, low, high))
    }
}
