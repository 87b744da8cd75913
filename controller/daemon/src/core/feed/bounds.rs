// SPDX-License-Identifier: Apache-2.0
//! How much a feed keeps: the newest records of a live collector, all of a finished run.

use super::super::flow_windows::FlowWindows;
use super::super::series::LinkSeries;
use super::Feed;
use tidemark_estimators::EstimatorConfig;

/// Bounds for a finished run: two hours of 20 flows take a gigabyte.
const WHOLE_RUN: Bounds = Bounds {
    link_intervals: 1_000_000,
    flow_intervals: 4_000_000,
    drops: 4_000_000,
    events: 4_000_000,
    charts: 6,
};

/// Bounds on what is kept, if they differ from those for a live collector.
struct Bounds {
    link_intervals: usize,
    flow_intervals: usize,
    drops: usize,
    events: usize,
    /// Factor for series and windows, relative to a live collector.
    charts: usize,
}

impl Feed {
    /// Memory used by records, series and windows, bytes.
    pub fn memory_bytes(&self) -> usize {
        let series = self.series.values().map(LinkSeries::memory_bytes);
        let windows = self.windows.values().map(FlowWindows::memory_bytes);
        self.estimator.memory_bytes() + series.sum::<usize>() + windows.sum::<usize>()
    }

    /// Creates one of `feeds` feeds, not connected yet.
    pub fn new(address: &str, retention_s: f64, feeds: usize) -> Self {
        let all = EstimatorConfig::default();
        let config = EstimatorConfig {
            retention_s,
            max_all_link_intervals: all.max_all_link_intervals / feeds.max(1),
            max_all_flow_intervals: all.max_all_flow_intervals / feeds.max(1),
            ..all
        };
        Self::of(address, config, 1)
    }

    /// Creates a feed that keeps a finished run within bounds, as `analyze` does.
    pub fn of_whole_run(address: &str) -> Self {
        let config = EstimatorConfig {
            retention_s: 1e9,
            max_link_intervals: WHOLE_RUN.link_intervals,
            max_flow_intervals: WHOLE_RUN.flow_intervals,
            max_all_link_intervals: usize::MAX,
            max_all_flow_intervals: usize::MAX,
            max_drops: WHOLE_RUN.drops,
            max_events: WHOLE_RUN.events,
            max_flows: usize::MAX,
            max_listed_flows: usize::MAX,
            ..Default::default()
        };
        Self::of(address, config, WHOLE_RUN.charts)
    }
}
