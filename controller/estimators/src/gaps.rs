// SPDX-License-Identifier: Apache-2.0
//! Time without records. The collector sends a record of every interval of a configured port, even
//! without packets: if a record is missing, it did not arrive (the connection was cut, or we read
//! too slowly), and nothing is known about that interval.

use std::ops::Range;
use tidemark_proto::telemetry::LinkInterval;

/// Times that no record covers, ns; `intervals` must be in order of their start.
pub(crate) fn gaps(intervals: &[&LinkInterval]) -> Vec<Range<u64>> {
    let mut gaps = Vec::new();
    let mut covered_ns = intervals.first().map_or(0, |r| r.start_ns);
    for r in intervals {
        if r.start_ns > covered_ns {
            gaps.push(covered_ns..r.start_ns);
        }
        covered_ns = covered_ns.max(r.start_ns.saturating_add(r.duration_ns));
    }
    gaps
}

/// Total length of the gaps, ns.
pub(crate) fn length_ns(gaps: &[Range<u64>]) -> u64 {
    gaps.iter().map(|g| g.end - g.start).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;
    use crate::utilisation;
    use crate::window::LinkWindow;
    use crate::{Estimator, EstimatorConfig, LinkId, LinkInfo};
    use proptest::prelude::*;
    use tidemark_proto::telemetry::Update;

    const INTERVAL_NS: u64 = 10_000_000;
    const LINK: LinkId = LinkId {
        node_id: 1,
        port: 2,
        queue: 0,
    };

    /// A record of a full 10 Mb/s link.
    fn interval(number: u64) -> LinkInterval {
        LinkInterval {
            node_id: LINK.node_id,
            port: LINK.port,
            start_ns: number * INTERVAL_NS,
            duration_ns: INTERVAL_NS,
            wire_bytes: 12_500,
            packets: 10,
            arrivals: 10,
            ..LinkInterval::default()
        }
    }

    proptest! {
        /// Records and gaps together cover the whole time, without overlap.
        #[test]
        fn gaps_are_what_no_record_covers(there in prop::collection::vec(any::<bool>(), 1..200)) {
            let came: Vec<_> = (0u64..).zip(&there).filter(|(_, t)| **t).map(|(n, _)| interval(n)).collect();
            let records: Vec<_> = came.iter().collect();
            let gaps = gaps(&records);
            if let (Some(first), Some(last)) = (came.first(), came.last()) {
                let whole_ns = last.start_ns + INTERVAL_NS - first.start_ns;
                let recorded_ns = INTERVAL_NS * came.len() as u64;
                prop_assert_eq!(length_ns(&gaps) + recorded_ns, whole_ns);
            }
            for r in &came {
                prop_assert!(gaps.iter().all(|g| r.start_ns >= g.end || r.start_ns + INTERVAL_NS <= g.start));
            }
        }
    }

    #[test]
    fn records_of_several_queues_leave_no_gap() {
        let all: Vec<_> = (0..4).flat_map(|n| [interval(n), interval(n)]).collect();
        assert_eq!(gaps(&all.iter().collect::<Vec<_>>()), []);
        assert_eq!(gaps(&[]), []);
    }

    /// Of 50 windows of ten round trips, 17 overlap the gap.
    #[test]
    fn windows_that_reach_into_a_gap_do_not_count_as_idle() {
        let mut store = Store::default();
        for n in (0..1000).filter(|n| !(510..830).contains(n)) {
            store.push_link_interval(interval(n), usize::MAX);
        }
        let info = LinkInfo {
            capacity_bps: 10_000_000,
            ..LinkInfo::default()
        };
        let config = EstimatorConfig::default();
        let to_ns = 1000 * INTERVAL_NS;
        let window = LinkWindow::gather(&store, &config, LINK, Some(&info), 0, to_ns);
        let totals = utilisation::totals(&window);
        let seen = utilisation::utilisation(&window, &totals, Some(0.02));
        assert_eq!(seen.windows, 50 - 17);
        assert!((seen.p01.unwrap() - 1.0).abs() < 1e-9, "{seen:?}");
    }

    /// A connection cut for 3 of 10 s used to make the link look idle then.
    #[test]
    fn a_cut_connection_leaves_the_utilisation_as_it_was() {
        let estimate = |configured: bool| {
            let mut e = Estimator::new(EstimatorConfig::default());
            if configured {
                e.set_port(
                    (LINK.node_id, LINK.port),
                    LinkInfo {
                        capacity_bps: 10_000_000,
                        ..LinkInfo::default()
                    },
                );
            }
            let link_intervals = (0..1000).filter(|n| !(500..800).contains(n));
            e.push(&Update {
                link_intervals: link_intervals.map(interval).collect(),
                ..Update::default()
            });
            e.estimate(LINK, 0, 1000 * INTERVAL_NS)
        };
        let cut = estimate(true);
        assert_eq!(cut.unrecorded_s, 3.0);
        assert!((cut.utilisation.mean.unwrap() - 1.0).abs() < 1e-9);
        assert!(cut.caveats.iter().any(|c| c.contains("3.00 s")));
        // Silence of the whole node does not show an idle link; a report of another port does.
        let silent = |others: u32| {
            let mut e = Estimator::new(EstimatorConfig::default());
            for port in [LINK.port, LINK.port + 1] {
                let info = LinkInfo {
                    capacity_bps: 10_000_000,
                    ..LinkInfo::default()
                };
                e.set_port((LINK.node_id, port), info);
                let packets = if port == LINK.port { 0 } else { others };
                e.push(&Update {
                    link_intervals: vec![LinkInterval {
                        port,
                        packets,
                        arrivals: packets,
                        wire_bytes: 0,
                        ..interval(7)
                    }],
                    ..Update::default()
                });
            }
            let e = e.estimate(LINK, 0, 100 * INTERVAL_NS);
            (e.utilisation.mean, e.loss_rate)
        };
        assert_eq!(silent(0), (None, None));
        assert_eq!(silent(1), (Some(0.0), None));
        // A port that is not configured has no records while it is idle.
        let unnamed = estimate(false);
        assert_eq!(unnamed.unrecorded_s, 0.0);
    }
}
