// SPDX-License-Identifier: Apache-2.0
//! Converts telemetry to the columns that charts use.

use crate::core::series::Point;
use tidemark_api::Series;
use tidemark_estimators::LinkId;

/// Converts `points` of a link of `capacity_bps` (0 = unknown) to columns. `drops_untold`: no
/// report can show a drop. `silent_ns`: how long the switch was silent between two times.
pub fn series(
    id: LinkId,
    step_ns: u64,
    points: &[Point],
    capacity_bps: u64,
    drops_untold: bool,
    silent_ns: impl Fn(u64, u64) -> u64,
) -> Series {
    let mut s = Series {
        node: id.node_id,
        port: id.port,
        queue: id.queue,
        step_ns,
        ..Series::default()
    };
    let mut next_ns = None;
    for p in points {
        // Otherwise a chart would draw a line across the time without records.
        if let Some(gap_ns) = next_ns.filter(|n| *n < p.start_ns) {
            push(&mut s, &Point::at(gap_ns), None);
        }
        let end_ns = p.start_ns.saturating_add(step_ns);
        next_ns = Some(end_ns);
        let heard = p.heard(silent_ns(p.start_ns, end_ns), step_ns);
        push(&mut s, p, heard.map(|p| (p, p.utilisation(capacity_bps))));
    }
    if drops_untold {
        let nothing = |drops: &&mut Option<u64>| **drops == Some(0);
        s.drops.iter_mut().filter(nothing).for_each(|d| *d = None);
    }
    s
}

/// Adds a step with its measured values and utilisation, or with gaps if `known` is `None`.
fn push(s: &mut Series, step: &Point, known: Option<(Point, Option<f64>)>) {
    let p = known.map(|k| k.0);
    s.time_ns.push(step.start_ns);
    s.occupancy_p50_bytes
        .push(p.map(|p| p.occupancy_p50_bytes.round()));
    s.occupancy_p99_bytes
        .push(p.map(|p| p.occupancy_p99_bytes.round()));
    s.occupancy_max_bytes.push(p.map(|p| p.occupancy_max_bytes));
    s.delay_p50_ms.push(p.map(|p| p.delay_p50_ns / 1e6));
    s.delay_p99_ms.push(p.map(|p| p.delay_p99_ns / 1e6));
    s.delay_max_ms.push(p.map(|p| p.delay_max_ns as f64 / 1e6));
    s.utilisation.push(known.and_then(|k| k.1));
    s.packets.push(p.map(|p| p.packets));
    s.arrivals.push(p.map(|p| p.arrivals));
    s.drops.push(p.map(|p| p.drops));
    s.ce_marked.push(p.map(|p| p.ce_marked));
    let limit = (step.limit_bytes != 0).then_some(step.limit_bytes);
    s.limit_bytes.push(limit);
    s.reports_lost.push(step.reports_lost);
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: LinkId = LinkId {
        node_id: 10,
        port: 5,
        queue: 0,
    };
    const S: u64 = 1_000_000_000;

    fn busy(second: u64) -> Point {
        Point {
            start_ns: second * S,
            duration_ns: S,
            wire_bytes: 500_000,
            packets: 500,
            arrivals: 500,
            limit_bytes: 5000,
            ..Point::default()
        }
    }

    #[test]
    fn columns_have_one_length_and_unknown_is_null() {
        let points = [busy(0), Point::at(S)];
        let s = series(ID, S, &points, 8_000_000, false, |_, _| 0);
        assert_eq!((s.node, s.port), (10, 5));
        assert_eq!(s.time_ns.len(), s.limit_bytes.len());
        assert_eq!(s.limit_bytes, [Some(5000), None]);
        assert_eq!(s.utilisation, [Some(0.5), None]);
        assert_eq!(s.drops, [Some(0), Some(0)], "it was idle");
        assert_eq!(
            series(ID, 1, &points[..1], 0, false, |_, _| 0).utilisation,
            [None]
        );
    }

    #[test]
    fn drops_that_no_report_can_tell_are_null() {
        let mut points = [busy(0), busy(1)];
        points[1].drops = 2;
        let s = series(ID, S, &points, 0, true, |_, _| 0);
        assert_eq!(s.drops, [None, Some(2)]);
    }

    /// A switch that had stopped for 14 s was drawn with an empty queue and 0 % utilisation.
    #[test]
    fn a_silent_switch_is_not_an_idle_link() {
        let empty = |second| Point {
            duration_ns: S,
            ..Point::at(second * S)
        };
        // Silent from 1.5 s to 4.0 s; no record of 5 s and 6 s arrived.
        let points = [busy(0), busy(1), empty(2), empty(3), empty(4), busy(7)];
        let silent_ns = |from: u64, to: u64| {
            let (a, b) = (from.max(S + S / 2), to.min(4 * S));
            b.saturating_sub(a)
        };
        let s = series(ID, S, &points, 8_000_000, false, silent_ns);
        let seconds: Vec<u64> = s.time_ns.iter().map(|t| t / S).collect();
        assert_eq!(seconds, [0, 1, 2, 3, 4, 5, 7]);
        let half = Some(0.5);
        let utilisation = [half, Some(1.0), None, None, Some(0.0), None, half];
        assert_eq!(s.utilisation, utilisation);
        let known = [true, true, false, false, true, false, true];
        assert_eq!(s.occupancy_max_bytes.map_known(), known);
        assert_eq!(s.drops.map_known(), known);
        assert_eq!(s.delay_p99_ms.map_known(), known);
    }

    trait MapKnown {
        fn map_known(&self) -> Vec<bool>;
    }

    impl<T> MapKnown for Vec<Option<T>> {
        fn map_known(&self) -> Vec<bool> {
            self.iter().map(Option::is_some).collect()
        }
    }
}
