// SPDX-License-Identifier: Apache-2.0
//! The time within a run while its capture is read.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use tidemark_capture::CaptureMeta;
use tidemark_control::Timestamp;
use tidemark_proto::telemetry::Update;

/// Clock of a run. It advances with the records of the nodes' clocks, each counted from its first
/// record, and never goes back.
#[derive(Debug)]
pub(super) struct RunClock(Mutex<State>);

#[derive(Debug)]
struct State {
    /// Time since the first record, ns.
    elapsed_ns: u64,
    /// Unix time of the first record, ns.
    first_unix_ns: Option<i128>,
    started_unix_ns: i128,
    /// Unix time minus the clock of a node, ns, if the capture tells it.
    unix_offset_ns: BTreeMap<u32, i128>,
    /// Clock of a node minus the time since the first record, ns.
    offset_ns: BTreeMap<u32, i128>,
}

impl RunClock {
    pub(super) fn new(meta: &CaptureMeta) -> Self {
        let known = meta.clocks.iter().filter(|c| c.unix_ns_at_reference > 0);
        let offset = |unix: i64, reference: u64| i128::from(unix) - i128::from(reference);
        Self(Mutex::new(State {
            elapsed_ns: 0,
            first_unix_ns: None,
            started_unix_ns: meta.started_unix_ns.into(),
            unix_offset_ns: known
                .map(|c| (c.node_id, offset(c.unix_ns_at_reference, c.reference_ns)))
                .collect(),
            offset_ns: BTreeMap::new(),
        }))
    }

    /// Advances to the end of the records of an update; returns the time since the first record,
    /// ns.
    pub(super) fn advance(&self, update: &Update) -> u64 {
        let mut state = self.0.lock();
        for i in &update.link_intervals {
            let (start_ns, duration_ns) = (i128::from(i.start_ns), i128::from(i.duration_ns));
            state.record(i.node_id, start_ns, start_ns + duration_ns);
        }
        state.elapsed_ns
    }

    pub(super) fn now(&self) -> Timestamp {
        let state = self.0.lock();
        let first = state.first_unix_ns.unwrap_or(state.started_unix_ns);
        let unix_ms = (first + i128::from(state.elapsed_ns)) / 1_000_000;
        Timestamp {
            monotonic_ns: i64::try_from(state.elapsed_ns).unwrap_or(i64::MAX),
            unix_ms: u64::try_from(unix_ms).unwrap_or(0),
        }
    }
}

/// A record this much older than the last one means that the clock restarted.
const BACK_IN_TIME_NS: i128 = 1_000_000_000;

impl State {
    fn record(&mut self, node: u32, start_ns: i128, end_ns: i128) {
        let elapsed = i128::from(self.elapsed_ns);
        let known = self.offset_ns.get(&node).copied();
        let restarted = known.is_some_and(|o| end_ns - o + BACK_IN_TIME_NS < elapsed);
        let offset = match known {
            Some(o) if !restarted => o,
            _ => start_ns - elapsed,
        };
        self.offset_ns.insert(node, offset);
        if self.first_unix_ns.is_none() {
            let of_node = self.unix_offset_ns.get(&node);
            self.first_unix_ns = of_node.map(|o| start_ns + o - elapsed);
        }
        let elapsed = (end_ns - offset).max(elapsed);
        self.elapsed_ns = u64::try_from(elapsed).unwrap_or(u64::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_proto::telemetry::{ClockMapping, LinkInterval};

    fn update(node_id: u32, start_ms: u64) -> Update {
        Update {
            link_intervals: vec![LinkInterval {
                node_id,
                start_ns: start_ms * 1_000_000,
                duration_ns: 10_000_000,
                ..LinkInterval::default()
            }],
            ..Update::default()
        }
    }

    #[test]
    fn time_is_that_of_the_records_whatever_their_clocks_show() {
        let clock = RunClock::new(&CaptureMeta {
            started_unix_ns: 50_000_000_000,
            clocks: vec![ClockMapping {
                node_id: 1,
                reference_ns: 2_000_000_000,
                unix_ns_at_reference: 902_000_000_000,
                ..ClockMapping::default()
            }],
            ..CaptureMeta::default()
        });
        assert_eq!(clock.now().unix_ms, 50_000);
        assert_eq!(clock.advance(&update(1, 5000)), 10_000_000);
        assert_eq!(clock.now().unix_ms, 905_010);
        // Another node, whose clock shows something else.
        assert_eq!(clock.advance(&update(2, 90)), 20_000_000);
        assert_eq!(clock.advance(&update(2, 100)), 30_000_000);
        // A late update does not turn time back.
        assert_eq!(clock.advance(&update(1, 5010)), 30_000_000);
        assert_eq!(clock.advance(&update(1, 6990)), 2_000_000_000);
        // A clock that restarts continues from there.
        assert_eq!(clock.advance(&update(1, 3)), 2_010_000_000);
        assert_eq!(clock.now().unix_ms, 907_010);
    }
}
