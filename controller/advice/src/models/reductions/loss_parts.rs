// SPDX-License-Identifier: Apache-2.0
//! Division of the drops at the limit in force, with the scaling of each part.

use super::among_others::AmongOthers;
use super::law::{Deviation, FlowWindow, Law};
use super::uncertainty::model_based;
use tidemark_rules::traffic::{LossMix, Traffic};

/// The limit to which the drops are scaled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limits {
    /// The other limit, bytes.
    pub buffer_bytes: f64,
    /// All drops over arrivals at the limit in force.
    pub loss_rate: f64,
}

/// Shares of all drops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Parts {
    /// Share of slow-start overshoots.
    pub overshoots: f64,
    /// Share of flows that follow a model of the path.
    pub model_based: f64,
    /// Response of the model-based flows to the limit, if known.
    among_others: Option<AmongOthers>,
    /// Congestion controls of the other flows.
    mix: LossMix,
}

impl Parts {
    pub fn of(m: &Traffic) -> Self {
        let drops = m.observed.map_or(0, |o| o.drops).max(1) as f64;
        let model_based = model_based(m);
        Self {
            overshoots: (m.overshoot_drops as f64 / drops).min(1.0 - model_based),
            model_based,
            among_others: AmongOthers::of(m),
            mix: believed(m.mix()),
        }
    }

    /// Returns the possible divisions: as counted; all drops scale; and, if flows follow a model,
    /// either end of their cap's range. At a smaller limit, or if the cap is unknown, all may stay:
    /// the other flows take what the model-based flows leave.
    pub fn possible(self, smaller: bool) -> impl Iterator<Item = Self> {
        let part = move |model_based| Self {
            overshoots: 0.0,
            model_based,
            among_others: None,
            mix: self.mix,
        };
        let unknown = smaller || self.among_others.is_none();
        let stay = (self.model_based > 0.0 && unknown).then(|| part(1.0));
        let ends = self
            .among_others
            .map(AmongOthers::ends)
            .into_iter()
            .flatten();
        let ends = ends.map(move |end| Self {
            among_others: Some(end),
            ..self
        });
        [self, part(0.0)].into_iter().chain(stay).chain(ends)
    }

    /// Returns the share of flows that multiply their windows down.
    pub fn decreases(self) -> f64 {
        1.0 - self.overshoots - self.model_based
    }

    /// Returns p'/p at other windows: the drops that cause decreases by the laws of their flows,
    /// raised to `exponent` (1 for the laws themselves); the drops of model-based flows by their
    /// response to the limit, or constant.
    pub fn scale(
        self,
        from: FlowWindow,
        to: FlowWindow,
        exponent: f64,
        by: Deviation,
        limit: Limits,
    ) -> f64 {
        let own = self.law(from, to, 0.0);
        let factor = own.powf(exponent) * self.law(from, to, by) / own;
        let overshoots = self.overshoots * self.overshoot(factor, to.over(from), by);
        let model_based = self.among_others.map_or(self.model_based, |b| {
            b.loss_at(limit.buffer_bytes) / limit.loss_rate
        });
        self.decreases() * factor + overshoots + model_based
    }

    /// Returns p'/p of the drops that cause decreases.
    fn law(self, from: FlowWindow, to: FlowWindow, by: Deviation) -> f64 {
        let m = self.mix;
        [
            (m.reno(), Law::Additive),
            (m.cubic, Law::Cubic),
            (m.scalable, Law::Scalable),
            (m.unknown, Law::Unknown),
        ]
        .into_iter()
        .filter(|(part, _)| *part > 0.0)
        .map(|(part, law)| part * law.ratio(from, to, by))
        .sum()
    }

    /// Returns p'/p of overshoots. A flow in slow start has doubled its window and loses half of
    /// it. Starts and timeouts do not multiply as windows shrink, and become rarer as they grow.
    /// CUBIC quickly regains a large window and overshoots again, by as much as the window has
    /// grown: in simulations two to three times the drops with twice the buffer.
    /// times the drops with twice the buffer.
    fn overshoot(self, factor: f64, windows: f64, by: Deviation) -> f64 {
        let cubic = windows.powf(1.0 - by);
        self.mix.cubic * cubic + (1.0 - self.mix.cubic) * factor.min(1.0)
    }
}

/// Share of drops of unrecognised flows from which the recognised controls are not trusted: an
/// unknown control is recognised as different known ones at different times.
const UNKNOWN: f64 = 0.25;

fn believed(mix: LossMix) -> LossMix {
    if mix.unknown < UNKNOWN {
        return mix;
    }
    LossMix {
        cubic: 0.0,
        scalable: 0.0,
        unknown: 1.0,
    }
}
