// SPDX-License-Identifier: Apache-2.0
//! Groups drops and CE marks closer than Tₑ into loss events (BSCL §III-C), and finds flows that
//! lose much at once.

use crate::signals::Signal;
use rustc_hash::{FxHashMap, FxHashSet};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LossEvent {
    /// Times of the first and the last signal.
    pub from_ns: u64,
    pub to_ns: u64,
    /// Packets dropped or marked.
    pub packets: u64,
    /// Flows of the given set that lost a packet in the event.
    pub flows: u64,
}

/// Groups signals, ordered by time, into loss events; `of` holds the flows that are counted.
pub(crate) fn loss_events(signals: &[Signal], gap_ns: u64, of: &FxHashSet<u64>) -> Vec<LossEvent> {
    let mut events: Vec<LossEvent> = Vec::new();
    let mut lost: FxHashSet<u64> = FxHashSet::default();
    for s in signals {
        let event = match events.last_mut() {
            Some(e) if s.time_ns.saturating_sub(e.to_ns) < gap_ns => e,
            _ => {
                lost.clear();
                events.push(LossEvent {
                    from_ns: s.time_ns,
                    to_ns: s.time_ns,
                    packets: 0,
                    flows: 0,
                });
                let Some(new) = events.last_mut() else { break };
                new
            }
        };
        event.to_ns = s.time_ns;
        event.packets += s.packets;
        if of.contains(&s.flow) && lost.insert(s.flow) {
            event.flows += 1;
        }
    }
    events
}

/// Mean length in round trips above which events have merged: senders reduce several times in each.
const MERGED_RTTS: f64 = 8.0;

/// Whether losses follow one another so closely that events cannot be told apart: drops per event
/// then say nothing about a single event (BSCL's L).
pub(crate) fn merged(events: &[LossEvent], rtt_ns: u64) -> bool {
    let length: u64 = events.iter().map(|e| e.to_ns - e.from_ns).sum();
    length as f64 > MERGED_RTTS * rtt_ns as f64 * events.len() as f64
}

/// Fewer drops at once are a burst, whatever the window.
const LEAST_OVERSHOOT: u64 = 5;

/// Drops of flows that lost at least half of their mean window within a round trip. A flow in
/// congestion avoidance sends one segment too many per RTT plus its own bursts; a flow in slow
/// start has doubled its window when the first loss shows. `of` holds round trip (ns) and mean
/// window (segments) of the flows considered.
pub(crate) fn overshoot_drops(drops: &[(u64, u64)], of: &FxHashMap<u64, (u64, f64)>) -> u64 {
    let mut open: FxHashMap<u64, (u64, u64)> = FxHashMap::default();
    let mut total = 0;
    let counted = |flow: u64, lost: u64| match of.get(&flow) {
        Some(&(_, window)) if lost >= LEAST_OVERSHOOT && lost as f64 >= 0.5 * window => lost,
        _ => 0,
    };
    for &(time, flow) in drops {
        let Some(&(rtt_ns, _)) = of.get(&flow) else {
            continue;
        };
        let episode = open.entry(flow).or_insert((time, 0));
        if time.saturating_sub(episode.0) > rtt_ns {
            total += counted(flow, episode.1);
            *episode = (time, 0);
        }
        episode.1 += 1;
    }
    total + open.iter().map(|(&f, e)| counted(f, e.1)).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_window_at_once_is_an_overshoot() {
        let of: FxHashMap<u64, (u64, f64)> = [(1, (10, 12.0)), (2, (10, 12.0)), (3, (10, 4.0))]
            .into_iter()
            .collect();
        // Flow 1 loses 6 of 12 at once, flow 2 loses 6 over two round trips, flow 3 has a burst of
        // 4, flow 9 is not in `of`.
        let mut drops: Vec<(u64, u64)> = (0..6).map(|i| (100 + i, 1)).collect();
        drops.extend((0..6).map(|i| (100 + 4 * i, 2)));
        drops.extend((0..4).map(|i| (100 + i, 3)));
        drops.extend((0..40).map(|i| (100 + i, 9)));
        drops.extend((0..3).map(|i| (200 + i, 1)));
        drops.sort_unstable();
        assert_eq!(overshoot_drops(&drops, &of), 6);
    }

    #[test]
    fn a_gap_of_the_rtt_parts_events() {
        let of: FxHashSet<u64> = [1, 2].into_iter().collect();
        let signals = [(0, 1), (5, 1), (14, 2), (24, 3), (40, 3)].map(|(time_ns, flow)| Signal {
            time_ns,
            flow,
            packets: 1 + flow / 3,
        });
        let events = loss_events(&signals, 10, &of);
        // From 14 to 24 is exactly the gap: not closer.
        let got: Vec<(u64, u64)> = events.iter().map(|e| (e.packets, e.flows)).collect();
        assert_eq!(got, [(3, 2), (2, 0), (2, 0)]);
        assert!(loss_events(&[], 10, &of).is_empty());
        assert!(!merged(&events, 10) && merged(&events[..1], 1) && !merged(&[], 1));
    }
}
