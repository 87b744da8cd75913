// SPDX-License-Identifier: Apache-2.0
//! Loss events: drops closer than Tₑ belong together (BSCL §III-C).

use rustc_hash::FxHashSet;

/// One loss event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LossEvent {
    pub drops: u64,
    /// Flows of the given set that lost in it.
    pub flows: u64,
}

/// Groups drops (time, flow), ordered by time; `of` are the flows counted.
pub(crate) fn loss_events(
    drops: &[(u64, u64)],
    gap_ns: u64,
    of: &FxHashSet<u64>,
) -> Vec<LossEvent> {
    let mut events = Vec::new();
    let mut lost: FxHashSet<u64> = FxHashSet::default();
    let (mut count, mut last) = (0u64, None::<u64>);
    for &(time, flow) in drops {
        if last.is_some_and(|l| time.saturating_sub(l) >= gap_ns) {
            events.push(LossEvent {
                drops: count,
                flows: lost.len() as u64,
            });
            count = 0;
            lost.clear();
        }
        count += 1;
        last = Some(time);
        if of.contains(&flow) {
            lost.insert(flow);
        }
    }
    if count > 0 {
        events.push(LossEvent {
            drops: count,
            flows: lost.len() as u64,
        });
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_of_the_rtt_parts_events() {
        let of: FxHashSet<u64> = [1, 2].into_iter().collect();
        let drops = [(0, 1), (5, 1), (14, 2), (24, 3), (40, 3)];
        let events = loss_events(&drops, 10, &of);
        // 14 → 24 is exactly the RTT: not closer.
        let got: Vec<(u64, u64)> = events.iter().map(|e| (e.drops, e.flows)).collect();
        assert_eq!(got, [(3, 2), (1, 0), (1, 0)]);
        assert!(loss_events(&[], 10, &of).is_empty());
    }
}
