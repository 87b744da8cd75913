// SPDX-License-Identifier: Apache-2.0
//! A series as the columns that charts take.

use super::Point;
use serde::Serialize;

/// Points as columns.
#[derive(Debug, Default, Serialize)]
pub struct Columns {
    pub step_ns: u64,
    pub time_ns: Vec<u64>,
    pub occupancy_p50_bytes: Vec<f64>,
    pub occupancy_p99_bytes: Vec<f64>,
    pub occupancy_max_bytes: Vec<u64>,
    pub delay_p50_ms: Vec<f64>,
    pub delay_p99_ms: Vec<f64>,
    pub delay_max_ms: Vec<f64>,
    /// Null without a capacity.
    pub utilisation: Vec<Option<f64>>,
    pub packets: Vec<u64>,
    pub arrivals: Vec<u64>,
    pub drops: Vec<u64>,
    pub ce_marked: Vec<u64>,
    /// Null when unlimited or not reported.
    pub limit_bytes: Vec<Option<u64>>,
    pub reports_lost: Vec<u64>,
}

/// Utilisation of a step at a capacity; `None` without one.
pub fn utilisation(p: &Point, capacity_bps: u64) -> Option<f64> {
    let possible = capacity_bps as f64 / 8.0 * p.duration_ns as f64 / 1e9;
    (possible > 0.0).then(|| p.wire_bytes as f64 / possible)
}

impl Columns {
    /// Columns of `points` for a link of `capacity_bps` (0 = not known).
    pub fn new(step_ns: u64, points: &[Point], capacity_bps: u64) -> Self {
        let mut c = Columns {
            step_ns,
            ..Default::default()
        };
        for p in points {
            c.time_ns.push(p.start_ns);
            c.occupancy_p50_bytes.push(p.occupancy_p50_bytes.round());
            c.occupancy_p99_bytes.push(p.occupancy_p99_bytes.round());
            c.occupancy_max_bytes.push(p.occupancy_max_bytes);
            c.delay_p50_ms.push(p.delay_p50_ns / 1e6);
            c.delay_p99_ms.push(p.delay_p99_ns / 1e6);
            c.delay_max_ms.push(p.delay_max_ns as f64 / 1e6);
            c.utilisation.push(utilisation(p, capacity_bps));
            c.packets.push(p.packets);
            c.arrivals.push(p.arrivals);
            c.drops.push(p.drops);
            c.ce_marked.push(p.ce_marked);
            c.limit_bytes
                .push((p.limit_bytes != 0).then_some(p.limit_bytes));
            c.reports_lost.push(p.reports_lost);
        }
        c
    }
}
