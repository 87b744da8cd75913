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
    /// Chance that a drop or mark here is never reported, because marks are sampled.
    pub unreported: f64,
    /// Ends of the intervals with lost reports, ns, and the fraction that each lost.
    pub missing: Vec<(u64, f64)>,
}

/// Utilisation of a full link; the rest is the ends of the window and rounding.
const FULL: f64 = 0.98;
/// Utilisation that Vegas reaches on a link with little other traffic.
const LOADED: f64 = 0.85;
/// Fraction of arrivals that meet a queue if it never empties; the rest is the window's ends.
const NEVER_EMPTY: f64 = 0.99;
/// Unresponsive load that keeps a queue full loses more than this, or leaves the link idle at
/// times: it would just fill the link only by chance.
const MOST_LOSS: f64 = 0.05;

impl LinkContext {
    /// Whether the link is full of traffic that reacts to its queue.
    pub fn filled(&self) -> bool {
        self.utilisation.is_some_and(|u| u >= FULL) && self.drop_rate < MOST_LOSS
    }

    /// Whether the link is loaded as far as senders that react to delay load it.
    pub fn is_loaded(&self) -> bool {
        self.utilisation.is_some_and(|u| u >= LOADED) && self.drop_rate < MOST_LOSS
    }

    /// Whether packets wait at all times.
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

    /// Chance that the cause of a flow's reduction at `time_ns` happened here without being known:
    /// reports within `lookback_ns` are missing, or not all marks are reported.
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
