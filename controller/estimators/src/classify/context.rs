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

impl LinkContext {
    /// Whether a greedy flow can have its bottleneck here.
    pub fn busy(&self) -> bool {
        self.non_empty >= 0.5 || self.utilisation.is_some_and(|u| u >= 0.9)
    }
}
