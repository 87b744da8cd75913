// SPDX-License-Identifier: Apache-2.0
//! Telemetry as the columns that charts take.

use crate::core::series::Point;
use tidemark_api::Series;
use tidemark_estimators::LinkId;

/// Columns of `points` for a link of `capacity_bps` (0 = not known).
pub fn series(id: LinkId, step_ns: u64, points: &[Point], capacity_bps: u64) -> Series {
    fn column<T>(points: &[Point], f: impl Fn(&Point) -> T) -> Vec<T> {
        points.iter().map(f).collect()
    }
    Series {
        node: id.node_id,
        port: id.port,
        step_ns,
        time_ns: column(points, |p| p.start_ns),
        occupancy_p50_bytes: column(points, |p| p.occupancy_p50_bytes.round()),
        occupancy_p99_bytes: column(points, |p| p.occupancy_p99_bytes.round()),
        occupancy_max_bytes: column(points, |p| p.occupancy_max_bytes),
        delay_p50_ms: column(points, |p| p.delay_p50_ns / 1e6),
        delay_p99_ms: column(points, |p| p.delay_p99_ns / 1e6),
        delay_max_ms: column(points, |p| p.delay_max_ns as f64 / 1e6),
        utilisation: column(points, |p| p.utilisation(capacity_bps)),
        packets: column(points, |p| p.packets),
        arrivals: column(points, |p| p.arrivals),
        drops: column(points, |p| p.drops),
        ce_marked: column(points, |p| p.ce_marked),
        limit_bytes: column(points, |p| (p.limit_bytes != 0).then_some(p.limit_bytes)),
        reports_lost: column(points, |p| p.reports_lost),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_one_length_and_unknown_is_null() {
        let id = LinkId {
            node_id: 10,
            port: 5,
        };
        let known = Point {
            duration_ns: 1_000_000_000,
            wire_bytes: 500_000,
            limit_bytes: 5000,
            ..Point::default()
        };
        let points = [known, Point::default()];
        let s = series(id, 1_000_000_000, &points, 8_000_000);
        assert_eq!((s.node, s.port), (10, 5));
        assert_eq!(s.time_ns.len(), s.limit_bytes.len());
        assert_eq!(s.limit_bytes, [Some(5000), None]);
        assert_eq!(s.utilisation, [Some(0.5), None]);
        assert_eq!(series(id, 1, &points, 0).utilisation, [None, None]);
    }
}
