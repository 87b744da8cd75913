// SPDX-License-Identifier: Apache-2.0
//! The link as the classifier sees it.

#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkContext {
    /// Fraction of arrivals that met a queue.
    pub non_empty: f64,
    /// `None` without a capacity.
    pub utilisation: Option<f64>,
    pub capacity_bytes_per_s: Option<f64>,
    /// Drops over arrivals.
    pub drop_rate: f64,
    /// Drops, and round trips of flows with CE marks.
    pub signals: u64,
    /// The same over arrivals: what the window law goes by (BSCL eq. 2).
    pub signal_rate: f64,
    pub to_ns: u64,
}

/// Utilisation of a full link: the ends of a window and rounding left out.
const FULL: f64 = 0.98;
/// Part of the arrivals that meet a queue which never empties, but for the ends of a window.
const NEVER_EMPTY: f64 = 0.99;
/// Load that does not react to a full queue loses more than this, or it leaves the link idle
/// at times: that it just fills the link would be chance.
const MOST_LOSS: f64 = 0.05;

impl LinkContext {
    /// Whether something fills the link that reacts to its queue.
    pub fn filled(&self) -> bool {
        self.utilisation.is_some_and(|u| u >= FULL) && self.drop_rate < MOST_LOSS
    }

    /// Packets wait all of the time.
    pub fn never_empties(&self) -> bool {
        self.non_empty >= NEVER_EMPTY && self.utilisation.is_some_and(|u| u >= FULL)
    }

    /// Whether a greedy flow can have its bottleneck here.
    pub fn busy(&self) -> bool {
        self.non_empty >= 0.5 || self.utilisation.is_some_and(|u| u >= 0.9)
    }
}
