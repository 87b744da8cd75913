// SPDX-License-Identifier: Apache-2.0
//! Signals by which senders learn that the link is full: drops, and CE marks if the queue marks
//! instead of dropping (RFC 3168). Both make a sender reduce.

use rustc_hash::FxHashMap;
use tidemark_proto::telemetry::{Drop, FlowInterval};

/// Packets of one flow, dropped or marked at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signal {
    pub time_ns: u64,
    pub flow: u64,
    pub packets: u64,
}

impl Signal {
    pub fn of_drop(d: &Drop) -> Self {
        Self {
            time_ns: d.time_ns,
            flow: d.flow_id,
            packets: 1,
        }
    }

    /// Signal for the marks of a record, at its middle: the marks' times are not reported, and a
    /// record is shorter than a round trip. `None` without marks.
    pub fn of_marks(r: &FlowInterval) -> Option<Self> {
        (r.ce_marked > 0).then(|| Self {
            time_ns: r.start_ns + r.duration_ns / 2,
            flow: r.flow_id,
            packets: u64::from(r.ce_marked),
        })
    }
}

/// Number of round trips in which a flow was marked: a sender reduces once in each, however many of
/// its packets were marked (RFC 3168 §6.1.2). `signals` are those of marks, ordered by time;
/// `rtt_ns` returns the RTT of a flow.
pub(crate) fn marked_rounds(signals: &[Signal], rtt_ns: impl Fn(u64) -> u64) -> u64 {
    let mut until: FxHashMap<u64, u64> = FxHashMap::default();
    let mut rounds = 0;
    for s in signals {
        let end = until.entry(s.flow).or_insert(0);
        if s.time_ns >= *end {
            rounds += 1;
            *end = s.time_ns + rtt_ns(s.flow).max(1);
        }
    }
    rounds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_round_per_flow_and_round_trip() {
        let mark = |time_ns, flow| {
            let r = FlowInterval {
                flow_id: flow,
                start_ns: time_ns,
                ce_marked: 3,
                ..FlowInterval::default()
            };
            Signal::of_marks(&r).unwrap()
        };
        let signals = [mark(0, 1), mark(5, 1), mark(6, 2), mark(10, 1), mark(14, 1)];
        assert_eq!(marked_rounds(&signals, |_| 10), 3);
        assert_eq!(signals[0].packets, 3);
        assert_eq!(Signal::of_marks(&FlowInterval::default()), None);
    }
}
