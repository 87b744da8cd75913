// SPDX-License-Identifier: Apache-2.0
//! The envelope, for traffic without a trusted law: extrapolates from the measurement at the limit
//! in force, with the deviations seen in simulated runs.
//!
//! With x = ln(B/B₀), loss is p₀·e^(−e·x) and the idle share i₀·e^(−e·x), with the exponents of
//! [`UP`] and [`DOWN`]. If LBP flows fill the link but too few drops were seen to scale them, the
//! exponent is that of the papers' formulas, within the same bounds; utilisation then follows the
//! formulas too. Two facts bound both, whatever the senders do:
//!
//! * a smaller limit never has a longer queue than a larger one, so of the same
//!   arrivals no more are lost at B than found B or more, or were lost, at B₀;
//! * a link idles only while its queue is empty: less room by B₀ − B can empty it
//!   only while it holds less than that.

use super::formula;
use super::reductions::LEAST_DROPS;
use super::sampling::{LOSS_BETWEEN_RUNS, UTILISATION_BETWEEN_RUNS, Z90};
use super::{Curves, Model};
use tidemark_rules::error::RuleError;
use tidemark_rules::{Observed, Range, Regime, Traffic};

/// The envelope of simulated runs around the measurement.
pub static MODEL: Model = Model {
    id: "envelope",
    name: "envelope of runs about the measurement",
    source: "tests/pairs",
    evidence: "ns-3 pairs of limits of traffics that no law describes (tests/it/foreign.rs)",
    fit: |m| {
        let envelope = Envelope::of(m)?;
        let (used, delay) = (envelope.clone(), envelope.clone());
        Some(Curves {
            loss_rate: Some(Box::new(move |bytes| envelope.loss_at(bytes))),
            utilisation: Some(Box::new(move |bytes| used.utilisation_at(bytes))),
            delay_mean_ms: Some(Box::new(move |bytes| Ok(delay.mean_delay_at(bytes)))),
            delay_ms: Some(Box::new(move |bytes| {
                Ok(Range::exact(formula::full_ms(m, bytes)))
            })),
        })
    },
};

/// Exponents of loss and of the idle share.
struct Exponents {
    loss: Range,
    idle: Range,
}

/// Exponents towards larger limits.
const UP: Exponents = Exponents {
    loss: Range {
        value: 0.6,
        low: -0.2,
        high: 2.2,
    },
    idle: Range {
        value: 0.6,
        low: 0.0,
        high: 2.5,
    },
};
/// Exponents towards smaller limits.
const DOWN: Exponents = Exponents {
    loss: Range {
        value: 0.8,
        low: -0.2,
        high: 4.5,
    },
    idle: Range {
        value: 0.6,
        low: 0.0,
        high: 2.0,
    },
};
/// Assumed share, of the losses or idle times that are possible, that do occur.
const OF_POSSIBLE: f64 = 0.15;
/// Distance in ln B over which the first drops seen give way to the formula.
const NEAR: f64 = 0.2;
/// Number of drops that the formula counts as when there are few.
const PRIOR_DROPS: f64 = 4.0;
/// Packets per loss event if none was seen: a burst of an initial window.
const BURST_PKTS: f64 = 10.0;
/// Share of the capacity carried by LBP flows from which their formulas are used.
const LEAST_SHARE: f64 = 0.5;

#[derive(Clone)]
struct Envelope<'a> {
    m: &'a Traffic,
    limit_bytes: f64,
    observed: Observed,
    /// Whether flows that a formula describes fill the link.
    formula: bool,
    /// Number of arrivals behind the loss rate, if known.
    arrivals: Option<f64>,
}

impl<'a> Envelope<'a> {
    fn of(m: &'a Traffic) -> Option<Self> {
        let observed = m.observed?;
        let by_drops = observed.drops as f64 / observed.loss_rate;
        let arrivals = m.occupancy.as_ref().map(|o| o.arrivals as f64);
        Some(Self {
            m,
            limit_bytes: m.limit_bytes.filter(|&b| b > 0.0)?,
            observed,
            formula: m.lbp_present()
                && m.t_e_s.value > 0.0
                && m.regime == Regime::Elastic
                && m.c_e_share.value >= LEAST_SHARE,
            arrivals: arrivals.or(by_drops.is_finite().then_some(by_drops)),
        })
    }

    fn distance(&self, bytes: f64) -> f64 {
        (bytes.max(1.0) / self.limit_bytes).ln()
    }

    /// Returns the share of arrivals that found at least this occupancy, or were lost.
    fn tail(&self, bytes: f64) -> f64 {
        let Some(occupancy) = &self.m.occupancy else {
            return 1.0;
        };
        let met = &occupancy.bytes;
        // Quantiles: beyond the last one lies a part of its share.
        let above = met.len() - met.partition_point(|&b| b < bytes);
        let part = (above as f64 + 0.5) / met.len().max(1) as f64;
        let most = if self.observed.delay_max_ms > 0.0 {
            self.observed.delay_max_ms / 1e3 * self.m.drain_bytes_per_s()
        } else {
            f64::INFINITY
        };
        let part = if bytes > most { 0.0 } else { part };
        (part * (1.0 - occupancy.met_empty) + self.observed.loss_rate).min(1.0)
    }

    fn loss_at(&self, bytes: f64) -> Result<Range, RuleError> {
        let (x, here) = (self.distance(bytes), self.observed.loss_rate);
        let by = if x > 0.0 { UP.loss } else { DOWN.loss };
        let formula = match self.formula && self.observed.drops < LEAST_DROPS {
            true => Some((
                formula::predict(self.m, bytes)?.loss_rate,
                formula::central(self.m, self.limit_bytes)?.loss_rate,
            )),
            false => None,
        };
        let most = if x < 0.0 { self.tail(bytes) } else { 1.0 };
        let away = 1.0 - (-x.abs() / NEAR).exp();
        // Ratio of the drops seen to those the formula expects, if there were few.
        let blend = formula.map_or(1.0, |(_, there)| {
            let seen = self.observed.drops as f64 + PRIOR_DROPS;
            let expected = there * self.arrivals.unwrap_or(0.0);
            (seen / (expected + PRIOR_DROPS)).max(1.0)
        });
        if self.observed.drops == 0 || here <= 0.0 {
            let possible = self
                .arrivals
                .map_or(1.0, |n| (3.0 * BURST_PKTS / n).min(1.0));
            let (value, high) = match formula {
                Some((f, _)) if x < 0.0 => (f.value * blend * away, f.high * blend),
                Some((f, _)) => (0.0, f.high.min(possible)),
                None if x < 0.0 => (OF_POSSIBLE * most * away, most),
                None => (0.0, possible),
            };
            let most = most.max(possible);
            return Ok(Range::new(value.min(most), 0.0, high.min(most)));
        }
        let exponent = match formula {
            Some((f, there)) if x.abs() > 1e-6 && f.value > 0.0 && there > 0.0 => {
                (-(f.value / there).ln() / x).clamp(by.low, by.high)
            }
            _ => by.value,
        };
        let drawn = formula.map_or(1.0, |(_, there)| (blend * there / here).powf(away));
        let at = |exponent: f64| (here * (-exponent * x).exp()).min(1.0);
        let events = self.m.loss_events();
        let sampled = (Z90 * (1.0 / events).sqrt().hypot(LOSS_BETWEEN_RUNS)).exp();
        let value = (at(exponent) * drawn).min(most);
        let ends = [at(by.low), at(by.high)];
        let low = ends[0].min(ends[1]).min(value) / sampled;
        // The few drops that were seen may underestimate the loss.
        let more = formula.map_or(0.0, |(f, _)| f.high * blend * away);
        let high = (ends[0].max(ends[1]).max(value) * sampled).max(more);
        let high = high.min(most.max(value * sampled));
        Ok(Range::new(value, low, high.min(1.0)))
    }

    fn utilisation_at(&self, bytes: f64) -> Result<Range, RuleError> {
        let (x, here) = (self.distance(bytes), self.observed.utilisation.min(1.0));
        let idle = 1.0 - here;
        let by = if x > 0.0 { UP.idle } else { DOWN.idle };
        let mut used = if self.formula {
            let there = formula::central(self.m, self.limit_bytes)?.utilisation;
            let at = formula::predict(self.m, bytes)?.utilisation;
            let off = here - there;
            // For flows that lose together, the low end does not depend on the one limit seen.
            let low = if x < 0.0 {
                at.low
            } else {
                (at.low + off).min(here)
            };
            Range::new(at.value + off, low, at.high.max(here))
        } else {
            let at = |exponent: f64| 1.0 - idle * (-exponent * x).exp();
            let emptied = if x < 0.0 {
                self.below(self.limit_bytes - bytes)
            } else {
                0.0
            };
            let value = at(by.value) - OF_POSSIBLE * emptied;
            let ends = [at(by.low), at(by.high) - 2.0 * OF_POSSIBLE * emptied];
            Range::new(value, ends[0].min(ends[1]), ends[0].max(ends[1]))
        };
        let sampled = idle * (Z90 / self.m.loss_events().sqrt()).min(1.0);
        let sampled = sampled.max(UTILISATION_BETWEEN_RUNS);
        used.widen(used.low - sampled);
        used.widen(used.high + sampled);
        let kept = |v: f64| v.clamp(0.0, 1.0);
        Ok(Range::new(
            kept(used.value),
            kept(used.low),
            kept(used.high),
        ))
    }

    /// Returns the share of arrivals that found less than this occupancy.
    fn below(&self, bytes: f64) -> f64 {
        let Some(occupancy) = &self.m.occupancy else {
            return 0.5;
        };
        let met = &occupancy.bytes;
        let part = met.partition_point(|&b| b < bytes) as f64 / met.len().max(1) as f64;
        occupancy.met_empty + (1.0 - occupancy.met_empty) * part
    }

    fn mean_delay_at(&self, bytes: f64) -> Range {
        let (x, mean_ms) = (self.distance(bytes), self.observed.delay_mean_ms);
        let full_ms = formula::full_ms(self.m, bytes);
        let at = |exponent: f64| (mean_ms * (exponent * x).exp()).min(full_ms);
        Range::new(at(0.8), at(0.0).min(at(1.4)), at(0.0).max(at(1.4)))
    }
}
