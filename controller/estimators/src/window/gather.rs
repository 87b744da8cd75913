// SPDX-License-Identifier: Apache-2.0
//! Takes the records of a window from the store.

use super::{FlowWindow, Life, LinkWindow};
use crate::config::EstimatorConfig;
use crate::gaps;
use crate::signals::Signal;
use crate::store::{Store, has_packets};
use crate::types::{LinkId, LinkInfo};
use crate::utilisation;
use std::collections::VecDeque;
use tidemark_proto::telemetry::{FlowInterval, LinkInterval};

/// Least number of intervals with packets waiting throughout to measure the capacity.
const BUSY_INTERVALS: usize = 20;

/// Returns the rate at which the link drains while its queue is never empty, its capacity in bits/s
/// on the wire. `None` if this was seen too rarely.
fn drain_rate_bps(intervals: &[&LinkInterval]) -> Option<u64> {
    let never_empty = |r: &LinkInterval| {
        let is_told = r.occupancy_bytes.is_some();
        is_told && r.met_empty == 0 && r.arrivals > r.drops && r.packets > 0 && r.reports_lost == 0
    };
    let (mut bytes, mut ns, mut count) = (0.0, 0.0, 0);
    for w in intervals.windows(3) {
        // The neighbours show that packets waited at either end.
        if let [before, r, after] = w
            && never_empty(before)
            && never_empty(r)
            && never_empty(after)
        {
            bytes += r.wire_bytes as f64 * f64::from(1u32 << r.sampling_shift.min(31));
            ns += r.duration_ns as f64;
            count += 1;
        }
    }
    (count >= BUSY_INTERVALS).then(|| (bytes * 8e9 / ns).round() as u64)
}

/// Returns the records in `[from_ns, to_ns)`; `kept` is ordered by time.
fn between<T>(
    kept: &VecDeque<T>,
    from_ns: u64,
    to_ns: u64,
    time_ns: impl Fn(&T) -> u64,
) -> impl ExactSizeIterator<Item = &T> {
    let start = kept.partition_point(|r| time_ns(r) < from_ns);
    let end = kept.partition_point(|r| time_ns(r) < to_ns);
    kept.range(start..end.max(start))
}

/// Whether no port of the node reported a packet within a window.
fn is_silent(store: &Store, window: &LinkWindow<'_>) -> bool {
    // The newest record answers for a window that ends now.
    let node = store.nodes.get(&window.id.node_id);
    match node.and_then(|n| n.reported_ns) {
        None => return true,
        Some(newest_ns) if newest_ns < window.from_ns => return true,
        Some(newest_ns) if newest_ns < window.to_ns => return false,
        Some(_) => {}
    }
    let of_node = store
        .links
        .iter()
        .filter(|l| l.0.node_id == window.id.node_id);
    let (from_ns, to_ns) = (window.from_ns, window.to_ns);
    !of_node
        .flat_map(|(_, link)| between(&link.intervals, from_ns, to_ns, |r| r.start_ns))
        .any(has_packets)
}

/// Least part of the port's capacity that the other queues take for a queue to share the port.
const LEAST_SHARE: f64 = 0.01;

/// Returns the port's other queues with packets within the window; none if together they took less
/// than [`LEAST_SHARE`] of the port's capacity.
fn sharing(store: &Store, window: &LinkWindow<'_>) -> Vec<u32> {
    let (mut queues, mut bits) = (Vec::new(), 0.0);
    for (queue, link) in store.other_queues(window.id) {
        let records = between(&link.intervals, window.from_ns, window.to_ns, |r| {
            r.start_ns
        });
        let bits_of = |r: &LinkInterval| {
            r.wire_bytes as f64 * 8.0 * f64::from(1u32 << r.sampling_shift.min(31))
        };
        let left: f64 = records.map(bits_of).sum();
        if left > 0.0 {
            bits += left;
            queues.push(queue);
        }
    }
    let capacity_bps = window.info.capacity_bps as f64;
    if bits < LEAST_SHARE * capacity_bps * window.length_s() {
        queues.clear();
    }
    queues.sort_unstable();
    queues
}

impl<'a> LinkWindow<'a> {
    pub fn gather(
        store: &'a Store,
        config: &EstimatorConfig,
        id: LinkId,
        info: Option<&LinkInfo>,
        from_ns: u64,
        to_ns: u64,
    ) -> Self {
        let configured = info.is_some();
        let info = info.cloned().unwrap_or_default();
        let mut window = Self {
            id,
            info,
            from_ns,
            to_ns,
            intervals: Vec::new(),
            flows: Vec::new(),
            drops: Vec::new(),
            marks: Vec::new(),
            sampling: 1.0,
            capacity_measured: false,
            shared_with: Vec::new(),
            flows_evicted: false,
            drops_untold: false,
            two_clocks: false,
            gaps: Vec::new(),
            silent: false,
        };
        let Some(link) = store.links.get(&id) else {
            return window;
        };
        window.intervals = between(&link.intervals, from_ns, to_ns, |r| r.start_ns)
            .filter(|r| r.start_ns + r.duration_ns <= to_ns)
            .collect();
        // The window is what the intervals cover, so that rates are exact.
        if let (Some(first), Some(last)) = (window.intervals.first(), window.intervals.last()) {
            window.from_ns = first.start_ns;
            window.to_ns = last.start_ns + last.duration_ns;
        }
        if configured {
            window.gaps = gaps::gaps(&window.intervals);
        }
        let (from_ns, to_ns) = (window.from_ns, window.to_ns);
        window.silent =
            !window.intervals.iter().any(|r| has_packets(r)) && is_silent(store, &window);
        window.flows_evicted = link.flows_evicted_ns >= from_ns && link.flows_evicted_ns > 0;
        window.drops = between(&link.drops, from_ns, to_ns, |d| d.time_ns).collect();
        let no_drops = window.intervals.iter().all(|r| r.drops == 0);
        window.drops_untold = store.nodes_of_hops_alone.contains(&id.node_id) && no_drops;
        window.two_clocks = store.nodes_of_two_clocks.contains(&id.node_id);
        let (mut stands_for, mut reported) = (0.0, 0.0);
        for r in &window.intervals {
            reported += f64::from(utilisation::reported(r));
            stands_for += f64::from(r.packets) * f64::from(1u32 << r.sampling_shift.min(31));
        }
        if reported > 0.0 {
            window.sampling = stands_for / reported;
        }
        window.shared_with = sharing(store, &window);
        if !window.shared_with.is_empty() {
            window.info.capacity_bps = 0;
        }
        if window.info.capacity_bps == 0
            && let Some(bps) = drain_rate_bps(&window.intervals)
        {
            window.info.capacity_bps = bps;
            window.capacity_measured = true;
        }
        let since = from_ns.saturating_sub((config.history_s.max(0.0) * 1e9) as u64);
        for (&flow_id, flow) in &link.flows {
            if flow.intervals.back().is_none_or(|r| r.start_ns < from_ns) {
                continue; // nothing of it in this window
            }
            let records = between(&flow.intervals, since, to_ns, |r| r.start_ns);
            let mut history: Vec<&FlowInterval> = Vec::with_capacity(records.len());
            history.extend(records.filter(|r| r.start_ns + r.duration_ns <= to_ns));
            let window_at = history.partition_point(|r| r.start_ns < from_ns);
            if window_at == history.len() {
                continue; // nothing of it in this window
            }
            let life = Life::of(&history, window.sampling);
            let mut signals_ns = Vec::new();
            if life.marked > 0 {
                let marks = |records: &[&FlowInterval]| {
                    let marked = records.iter().filter_map(|r| Signal::of_marks(r));
                    marked.collect::<Vec<_>>()
                };
                signals_ns.extend(marks(&history).iter().map(|s| s.time_ns));
                let within = history.get(window_at..).unwrap_or_default();
                window.marks.append(&mut marks(within));
            }
            window.flows.push(FlowWindow {
                id: flow_id,
                info: store.info.get(&flow_id),
                life,
                history,
                window_at,
                drops_ns: Vec::new(),
                signals_ns,
                sampling: life.sampling,
                events: store.events.get(&flow_id).map_or_else(Vec::new, |e| {
                    e.iter()
                        .filter(|e| e.time_ns >= since && e.time_ns < to_ns)
                        .collect()
                }),
            });
        }
        window.flows.sort_unstable_by_key(|f| f.id);
        for drop in between(&link.drops, since, to_ns, |d| d.time_ns) {
            if let Ok(i) = window.flows.binary_search_by_key(&drop.flow_id, |f| f.id)
                && let Some(flow) = window.flows.get_mut(i)
            {
                flow.drops_ns.push(drop.time_ns);
            }
        }
        for flow in window.flows.iter_mut().filter(|f| !f.drops_ns.is_empty()) {
            flow.signals_ns.extend_from_slice(&flow.drops_ns);
            flow.signals_ns.sort_unstable();
        }
        window.marks.sort_unstable_by_key(|s| (s.time_ns, s.flow));
        window
    }
}

#[cfg(test)]
mod tests {
    use crate::{Estimator, EstimatorConfig, LinkEstimate, LinkId};
    use tidemark_proto::histogram::Counts;
    use tidemark_proto::telemetry::{LinkInterval, Node, Port, Update};

    const MS: u64 = 1_000_000;
    const CAPACITY_BPS: u64 = 100_000_000;

    /// One second of a queue with a share of the port; its packets always wait, or never.
    fn records(queue: u32, share: f64, waits: bool) -> impl Iterator<Item = LinkInterval> {
        let wire_bytes = (share * CAPACITY_BPS as f64 / 8.0 / 100.0) as u64;
        (0..100).map(move |n| {
            let mut occupancy = Counts::new();
            occupancy.record(if waits { 9000 } else { 0 });
            LinkInterval {
                node_id: 1,
                port: 2,
                queue,
                start_ns: n * 10 * MS,
                duration_ns: 10 * MS,
                packets: u32::from(share > 0.0),
                arrivals: u32::from(share > 0.0),
                ip_bytes: wire_bytes,
                wire_bytes,
                met_empty: u32::from(!waits && share > 0.0),
                occupancy_bytes: Some(occupancy.take()),
                ..LinkInterval::default()
            }
        })
    }

    /// Estimates the queues of one port, each given by its share and whether its packets wait.
    fn estimates(queues: &[(u32, f64, bool)]) -> Vec<LinkEstimate> {
        let mut estimator = Estimator::new(EstimatorConfig::default());
        estimator.set_nodes(&[Node {
            node_id: 1,
            ports: vec![Port {
                port: 2,
                capacity_bps: CAPACITY_BPS,
                ..Port::default()
            }],
            ..Node::default()
        }]);
        let records = queues
            .iter()
            .flat_map(|&(q, share, waits)| records(q, share, waits));
        estimator.push(&Update {
            link_intervals: records.collect(),
            ..Update::default()
        });
        let estimate = |&(queue, ..): &(u32, f64, bool)| {
            estimator.estimate(LinkId::new(1, 2, queue), 0, 1000 * MS)
        };
        queues.iter().map(estimate).collect()
    }

    fn says_shared(e: &LinkEstimate) -> bool {
        e.caveats
            .iter()
            .any(|c| c.starts_with("the queue shares its port with queue"))
    }

    #[test]
    fn the_capacities_of_queues_that_share_a_port_add_up_to_it() {
        let both = estimates(&[(0, 0.7, true), (3, 0.3, true)]);
        let capacities: Vec<u64> = both.iter().map(|e| e.capacity_bps).collect();
        assert_eq!(capacities, [70_000_000, 30_000_000]);
        for e in &both {
            assert!(e.shares_port && says_shared(e), "{:?}", e.caveats);
            assert!((e.utilisation.mean.unwrap() - 1.0).abs() < 1e-3);
            assert!(e.measured().shares_port);
        }
    }

    #[test]
    fn a_rate_that_was_not_measured_is_unknown() {
        let both = estimates(&[(0, 0.7, true), (3, 0.2, false)]);
        assert_eq!(both[0].capacity_bps, 70_000_000);
        assert_eq!((both[1].capacity_bps, both[1].utilisation.mean), (0, None));
        assert!(says_shared(&both[1]), "{:?}", both[1].caveats);
    }

    #[test]
    fn a_queue_whose_neighbours_idle_has_the_port() {
        for other in [0.0, 0.005] {
            let both = estimates(&[(0, 0.7, true), (3, other, false)]);
            assert_eq!(
                (both[0].capacity_bps, both[0].shares_port),
                (CAPACITY_BPS, false)
            );
            assert!(!says_shared(&both[0]));
        }
        let alone = estimates(&[(5, 0.7, true)]);
        assert_eq!((alone[0].queue, alone[0].capacity_bps), (5, CAPACITY_BPS));
    }
}
