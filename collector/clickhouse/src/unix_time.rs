// SPDX-License-Identifier: Apache-2.0
//! Converts the nodes' clocks to Unix time, for dashboards.
//!
//! No report is received before it was sent, so the smallest difference between the
//! reception time and the node's time is nearest to the true offset. It may rise only
//! as fast as clocks drift. The result moves in steps, so that its column compresses
//! to almost nothing. Analyses use the exact columns and the clock mappings in `events`.

use std::collections::BTreeMap;

/// Upper bound of the drift of a working clock.
const MAX_DRIFT: f64 = 200e-6;
/// Granularity of the result.
const STEP_NS: i64 = 100_000;

struct Node {
    envelope_ns: i64,
    shown_ns: i64,
    last_ns: u64,
}

/// For each node, the offset from its clock to Unix time.
#[derive(Default)]
pub(crate) struct UnixTime(BTreeMap<u32, Node>);

impl UnixTime {
    /// Records that a report of time `node_ns` was received at `unix_ns`; returns
    /// the offset, Unix time minus node time.
    pub(crate) fn observe(&mut self, node_id: u32, node_ns: u64, unix_ns: i64) -> i64 {
        let sample = unix_ns.wrapping_sub(node_ns as i64);
        let node = self.0.entry(node_id).or_insert(Node {
            envelope_ns: sample,
            shown_ns: sample,
            last_ns: node_ns,
        });
        let passed = node_ns.saturating_sub(node.last_ns);
        node.last_ns = node.last_ns.max(node_ns);
        let leak = (passed as f64 * MAX_DRIFT) as i64;
        node.envelope_ns = node.envelope_ns.saturating_add(leak).min(sample);
        if node.envelope_ns.abs_diff(node.shown_ns) > STEP_NS as u64 {
            node.shown_ns = node.envelope_ns;
        }
        node.shown_ns
    }

    /// The node's last offset, Unix time minus node time; 0 for an unknown node.
    pub(crate) fn offset(&self, node_id: u32) -> i64 {
        self.0.get(&node_id).map_or(0, |n| n.shown_ns)
    }

    /// Forgets the node's offset, because its clock restarted.
    pub(crate) fn restart(&mut self, node_id: u32) {
        self.0.remove(&node_id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_drift_and_ignores_delays() {
        let mut t = UnixTime::default();
        let base = 1_700_000_000_000_000_000;
        for i in 0..10_000u64 {
            let node = i * 1_000_000;
            let drift = (node as f64 * 40e-6) as i64;
            let delay = ((i * 7919) % 50) as i64 * 20_000;
            let shown = t.observe(1, node, base + node as i64 + drift + delay);
            if i > 500 {
                let error = shown - base - drift;
                assert!(error.abs() < 250_000, "{i}: {error}");
            }
        }
        assert_eq!(t.offset(2), 0);
        t.restart(1);
        assert_eq!(t.observe(1, 5, base + 1005), base + 1000);
    }
}
