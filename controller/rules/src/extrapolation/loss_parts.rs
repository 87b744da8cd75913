// SPDX-License-Identifier: Apache-2.0
//! What the drops at the limit in force are made of, and what becomes of each part.

use super::law::{Deviation, FlowWindow, Law};
use super::uncertainty::model_based;
use crate::traffic::{LossMix, Traffic};

/// Parts of all drops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Parts {
    /// Of overshoots of slow start.
    pub overshoots: f64,
    /// Of flows that follow a model of the path.
    pub model_based: f64,
    /// Congestion controls of the others.
    mix: LossMix,
}

impl Parts {
    pub fn of(m: &Traffic) -> Self {
        let drops = m.observed.map_or(0, |o| o.drops).max(1) as f64;
        let model_based = model_based(m);
        Self {
            overshoots: (m.overshoot_drops as f64 / drops).min(1.0 - model_based),
            model_based,
            mix: m.mix(),
        }
    }

    /// As counted; all scale; and, where flows follow a model, all stay: the
    /// others take what those leave.
    pub fn possible(self) -> impl Iterator<Item = Self> {
        let part = move |model_based| Self {
            overshoots: 0.0,
            model_based,
            mix: self.mix,
        };
        let stay = (self.model_based > 0.0).then(|| part(1.0));
        [self, part(0.0)].into_iter().chain(stay)
    }

    /// Of flows that multiply their windows down.
    pub fn decreases(self) -> f64 {
        1.0 - self.overshoots - self.model_based
    }

    /// p'/p at other windows: drops of decreases by the laws of their flows, raised
    /// to `exponent` (1 for the laws themselves); those of flows that follow a
    /// model stay.
    pub fn scale(self, from: FlowWindow, to: FlowWindow, exponent: f64, by: Deviation) -> f64 {
        let own = self.law(from, to, 0.0);
        let factor = own.powf(exponent) * self.law(from, to, by) / own;
        let overshoots = self.overshoots * self.overshoot(factor, to.over(from), by);
        self.decreases() * factor + overshoots + self.model_based
    }

    /// p'/p of the drops of decreases.
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

    /// p'/p of overshoots. A flow in slow start has doubled its window and loses
    /// half of it. Starts and timeouts do not multiply as windows shrink, and
    /// become rarer as they grow. CUBIC regains a large window fast and overshoots
    /// it again, by as much as the window has grown: simulated, twice to three
    /// times the drops with twice the buffer.
    fn overshoot(self, factor: f64, windows: f64, by: Deviation) -> f64 {
        let cubic = windows.powf(1.0 - by);
        self.mix.cubic * cubic + (1.0 - self.mix.cubic) * factor.min(1.0)
    }
}
