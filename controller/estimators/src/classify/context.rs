// SPDX-License-Identifier: Apache-2.0
//! The link as the classifier sees it.

use crate::window::FlowWindow;

#[derive(Clone, Debug)]
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
    /// Signals over arrivals: the loss rate of the window law (BSCL eq. 2).
    pub signal_rate: f64,
    pub to_ns: u64,
    /// Chance that a drop or mark here is not reported at all: marks of a sampled part.
    pub unreported: f64,
    /// Ends of the intervals of which reports are missing, ns, and the part of them.
    pub missing: Vec<(u64, f64)>,
}

/// Utilisation of a full link: the ends of a window and rounding left out.
const FULL: f64 = 0.98;
/// Utilisation that Vegas reaches with little else on the link.
const LOADED: f64 = 0.85;
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

    /// Loaded as far as senders that react to delay load a link.
    pub fn is_loaded(&self) -> bool {
        self.utilisation.is_some_and(|u| u >= LOADED) && self.drop_rate < MOST_LOSS
    }

    /// Packets wait all of the time.
    pub fn never_empties(&self) -> bool {
        self.non_empty >= NEVER_EMPTY && self.utilisation.is_some_and(|u| u >= FULL)
    }

    /// The part of the capacity that a flow takes in the window; 0 without a capacity.
    pub fn share_of(&self, flow: &FlowWindow<'_>) -> f64 {
        let records = flow.window();
        let (Some(first), Some(last)) = (records.first(), records.last()) else {
            return 0.0;
        };
        let ns = (last.start_ns + last.duration_ns).saturating_sub(first.start_ns);
        let bytes: f64 = records.iter().map(|r| r.wire_bytes as f64).sum();
        let capacity = self.capacity_bytes_per_s.unwrap_or(f64::INFINITY);
        bytes * flow.sampling / (ns as f64 / 1e9).max(1e-3) / capacity
    }

    /// Chance that what made a flow reduce at a time happened here and is not known: reports
    /// of the `lookback_ns` before are missing, or marks are not all reported.
    pub fn hidden(&self, time_ns: u64, lookback_ns: u64) -> f64 {
        let first = self
            .missing
            .partition_point(|m| m.0 < time_ns.saturating_sub(lookback_ns));
        let rest = self.missing.get(first..).unwrap_or_default();
        let near = rest.iter().take_while(|m| m.0 <= time_ns + lookback_ns);
        near.map(|m| m.1).fold(self.unreported, f64::max)
    }

    /// Whether a greedy flow can have its bottleneck here.
    pub fn busy(&self) -> bool {
        self.non_empty >= 0.5 || self.utilisation.is_some_and(|u| u >= 0.9)
    }
}
