// SPDX-License-Identifier: Apache-2.0
//! Search for the smallest limit that meets each target with the requested confidence.

use crate::confidence::{loss_at, loss_met, utilisation_at, utilisation_met};
use crate::models::reductions::threshold_within;
use crate::outlook::Outlook;
use tidemark_rules::rule::Situation;
use tidemark_rules::{Goal, Regime, RuleId, bscl};

/// Relative distance of the limits that are tried. They do not depend on the range, so that a live
/// link and its capture give the same number.
const RESOLUTION: f64 = 0.002;
/// Number of such steps between the limits tried if the largest one does not meet the target.
const COARSE: f64 = 64.0;
/// Ratio of loss rates, and below difference of utilisations, that count as equally good.
const AS_LOW: f64 = 1.1;
const AS_HIGH: f64 = 0.002;
/// Probability that counts as 0.5 (as likely as not), because sizes are rounded.
const LIKELY: f64 = 0.495;

/// The limit that a target needs.
#[derive(Clone, Debug)]
pub struct Need {
    /// Smallest limit that meets the target with the requested confidence, bytes; if there is none,
    /// the one that comes nearest. For delay, the largest.
    pub bytes: f64,
    /// Smallest limit that is as likely to meet the target as not; `None` if there is none.
    pub likely_bytes: Option<f64>,
    /// Whether the target is met at `bytes` with the requested confidence.
    pub sure: bool,
    /// Deciding model or rule.
    pub by: RuleId,
}

/// The limits that the targets need.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// Lower bound for utilisation; `None` if it does not depend on the limit.
    pub utilisation: Option<Need>,
    /// Lower bound for loss.
    pub loss: Option<Need>,
    /// Upper bound for delay.
    pub delay: Option<Need>,
}

impl Need {
    /// Returns the larger of both needs.
    pub fn and(&self, other: &Self) -> Self {
        let more = if other.bytes > self.bytes {
            other
        } else {
            self
        };
        // For a goal that is never likely, the limit that comes nearest.
        let likely = |n: &Self| n.likely_bytes.unwrap_or(n.bytes);
        Self {
            likely_bytes: Some(likely(self).max(likely(other))),
            sure: self.sure && other.sure,
            ..more.clone()
        }
    }

    /// Returns the needed limit below a ceiling: as much as fits of the limit that is sure; `None`
    /// if not even the likely limit fits.
    pub fn within(&self, most: f64) -> Option<f64> {
        let least = self
            .likely_bytes
            .filter(|_| self.bytes > most)
            .unwrap_or(self.bytes);
        (least <= most).then_some(self.bytes.min(most))
    }
}

impl Needs {
    /// Returns the need of a goal.
    pub fn of(&self, goal: Goal) -> Option<&Need> {
        match goal {
            Goal::Utilisation => self.utilisation.as_ref(),
            Goal::Loss => self.loss.as_ref(),
            Goal::Delay => self.delay.as_ref(),
        }
    }
}

/// A search between two limits.
struct Search<'a> {
    outlook: &'a Outlook<'a>,
    least: f64,
    most: f64,
    confidence: f64,
}

/// Returns the limit of a step, bytes.
fn at(step: f64) -> f64 {
    (step * RESOLUTION).exp()
}

impl Search<'_> {
    /// Returns coarse steps between a limit and the largest one.
    fn coarse(&self, from: f64) -> impl Iterator<Item = f64> {
        let first = (from.ln() / RESOLUTION / COARSE).ceil();
        let last = (self.most.ln() / RESOLUTION / COARSE).floor();
        (0..=(last - first).max(0.0) as u32).map(move |i| (first + f64::from(i)) * COARSE)
    }

    fn smallest(&self, from: f64, meets: impl Fn(f64) -> bool) -> Option<f64> {
        if meets(from) {
            return Some(from);
        }
        let mut low = (from.ln() / RESOLUTION).floor();
        let mut high = (self.most.ln() / RESOLUTION).ceil();
        if !meets(self.most) {
            // Ranges widen with the distance from measurements: a smaller limit may meet the target
            // although the largest one does not.
            high = self.coarse(from).find(|&k| meets(at(k)))?;
            low = low.max(high - COARSE);
        }
        while high - low > 1.0 {
            let middle = (0.5 * (low + high)).floor();
            if meets(at(middle)) {
                high = middle;
            } else {
                low = middle;
            }
        }
        Some(at(high).min(self.most))
    }

    /// Returns the limit at which a target is met with the requested probability, for a quantity
    /// that only improves; otherwise the one with the lowest `cost`, with ties according to `near`.
    fn need(
        &self,
        by: &'static str,
        met: impl Fn(f64) -> f64,
        cost: impl Fn(f64) -> f64,
        near: impl Fn(f64, f64) -> bool,
    ) -> Need {
        let likely = self.smallest(self.least, |b| met(b) >= LIKELY);
        let sure = match likely {
            Some(from) => self.smallest(from, |b| met(b) >= self.confidence - 1e-6),
            None => None,
        };
        let mut by = RuleId::Listed(by.into());
        let bytes = sure.unwrap_or_else(|| {
            let all: Vec<f64> = [self.least, self.most]
                .into_iter()
                .chain(self.coarse(self.least).map(at))
                .chain(self.outlook.measured_limits())
                .collect();
            let costs: Vec<f64> = all.iter().map(|&b| cost(b)).collect();
            let lowest = costs.iter().copied().fold(f64::INFINITY, f64::min);
            let near = all.iter().zip(&costs).filter(|(_, c)| near(**c, lowest));
            let near: Vec<f64> = near.map(|(b, _)| *b).collect();
            // Among equally good limits, a measured one is known better.
            let measured = self.outlook.measured_limits().filter(|b| near.contains(b));
            let known = measured.fold(f64::INFINITY, f64::min);
            if known.is_finite() {
                by = self.outlook.measured_as(known);
                return known;
            }
            near.iter().copied().fold(known, f64::min)
        });
        Need {
            bytes: if bytes.is_finite() { bytes } else { self.least },
            likely_bytes: likely,
            sure: sure.is_some(),
            by,
        }
    }
}

/// Returns the limits that the targets need.
pub fn needs(outlook: &Outlook<'_>, s: &Situation<'_>) -> Needs {
    let m = s.traffic;
    let most = s.largest_limit_bytes();
    let search = Search {
        outlook,
        least: s.smallest_limit_bytes().min(most),
        most,
        confidence: s.targets.confidence.clamp(0.5, 0.99),
    };
    let (target, confidence) = (s.targets.utilisation, search.confidence);
    let follows = m.regime != Regime::Transparent && m.saturable != Some(false);
    let utilisation = (target > 0.0 && follows).then(|| {
        let at = |b: f64| outlook.utilisation_at(b).unwrap_or_default();
        search.need(
            outlook.utilisation_by().id,
            |b| utilisation_met(at(b), target),
            |b| 1.0 - utilisation_at(at(b), confidence),
            |idle, lowest| idle <= lowest + AS_HIGH,
        )
    });
    let loss = s.targets.loss_rate.map(|target| {
        let at = |b: f64| outlook.loss_at(b).unwrap_or_default();
        search.need(
            outlook.loss_by().id,
            |b| loss_met(at(b), target),
            |b| loss_at(at(b), confidence),
            |loss, lowest| loss <= lowest * AS_LOW,
        )
    });
    Needs {
        utilisation,
        loss,
        delay: for_delay(s),
    }
}

/// Returns the largest limit that a delay bound allows; for a threshold, less the room above it.
fn for_delay(s: &Situation<'_>) -> Option<Need> {
    let rule = &bscl::rules::DELAY;
    let bytes = rule.evaluate(s).buffer_bytes?;
    let bytes = threshold_within(s.traffic, bytes);
    Some(Need {
        bytes,
        likely_bytes: Some(bytes),
        sure: true,
        by: rule.id(),
    })
}
