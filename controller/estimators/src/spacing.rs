// SPDX-License-Identifier: Apache-2.0
//! How a flow's packets follow one another: what has passed a slower link comes
//! singly.

use crate::window::FlowWindow;

/// Times with several packets that chance would have to bring before their absence
/// tells anything.
const LEAST_BY_CHANCE: f64 = 4.0;
/// Packets come singly where several come together less often than this part of chance.
const PART_OF_CHANCE: f64 = 0.25;
/// Half of the mean spacing over a record from which on records would show what a link
/// parts that the flow fills to a half.
const SLOW: f64 = 2.0;

/// How packets follow one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Spacing {
    /// Too few of them, or records too long to tell.
    #[default]
    Unknown,
    /// They come singly where chance alone would bring some together: a slower link parts what
    /// a window sends at once.
    Singly,
    /// Some come together, closer than a link that such a flow would fill lets them.
    Together,
}

/// How the packets of the history follow one another. A slower link parts them by what one
/// takes there, and a flow may send much less than that link carries; so times of every
/// length are looked at, from half of the mean spacing down to a record, within which
/// nothing is known.
pub(crate) fn spacing(flow: &FlowWindow<'_>) -> Spacing {
    let records = || flow.history.iter().filter(|r| r.packets > 0);
    let Some(first) = records().next() else {
        return Spacing::Unknown;
    };
    let span_ns = flow.life.last_ns.saturating_sub(first.start_ns) as f64;
    let packets: f64 = records().map(|r| f64::from(r.packets)).sum();
    let shortest_ns = first.duration_ns as f64;
    let half_ns = 0.5 * span_ns / packets;
    let longest_ns = half_ns.max(shortest_ns);
    if span_ns < longest_ns || shortest_ns <= 0.0 {
        return Spacing::Unknown;
    }
    // Times of this length with several packets, and how many chance would bring.
    let with_several = |length_ns: f64| {
        let (mut several, mut bin, mut inside) = (0.0, 0, 0u32);
        for r in records() {
            let this = (r.start_ns.saturating_sub(first.start_ns) as f64 / length_ns) as u64;
            if this != bin {
                several += f64::from(u8::from(inside > 1));
                (bin, inside) = (this, 0);
            }
            inside = inside.saturating_add(r.packets);
        }
        several += f64::from(u8::from(inside > 1));
        let bins = span_ns / length_ns;
        let rate = packets / bins;
        let none = (-rate).exp();
        (several, bins * (1.0 - none - rate * none))
    };
    let told: Vec<(f64, f64)> = std::iter::successors(Some(longest_ns), |l| Some(l / 2.0))
        .take_while(|l| *l >= shortest_ns)
        .map(with_several)
        .filter(|(_, by_chance)| *by_chance >= LEAST_BY_CHANCE)
        .collect();
    if told
        .iter()
        .any(|(several, by_chance)| *several < PART_OF_CHANCE * by_chance)
    {
        Spacing::Singly
    } else if !told.is_empty() && half_ns >= SLOW * shortest_ns {
        Spacing::Together
    } else {
        Spacing::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_proto::telemetry::FlowInterval;

    const RECORD_NS: u64 = 10_000_000;

    /// A flow with packets at these times, ms.
    fn at(times_ms: impl Iterator<Item = u64>) -> Spacing {
        let mut records: Vec<FlowInterval> = Vec::new();
        for ms in times_ms {
            let start_ns = ms * 1_000_000 / RECORD_NS * RECORD_NS;
            match records.last_mut().filter(|r| r.start_ns == start_ns) {
                Some(r) => r.packets += 1,
                None => records.push(FlowInterval {
                    start_ns,
                    duration_ns: RECORD_NS,
                    packets: 1,
                    ..FlowInterval::default()
                }),
            }
        }
        spacing(&FlowWindow::of_records(records.iter().collect()))
    }

    /// Three packets at a time, every 377 ms for half a minute.
    fn threes(apart_ms: u64) -> impl Iterator<Item = u64> {
        (0..80).flat_map(move |n| (0..3).map(move |i| 377 * n + i * apart_ms))
    }

    #[test]
    fn a_slower_link_parts_what_a_window_sends_at_once() {
        // 40 ms a packet: 300 kb/s, of which the flow takes a third.
        assert_eq!(at(threes(40)), Spacing::Singly);
        assert_eq!(at(threes(0)), Spacing::Together);
    }

    #[test]
    fn little_and_fast_traffic_tell_nothing() {
        assert_eq!(at(threes(0).take(6)), Spacing::Unknown);
        // 200 packets a second: what parts them by 5 ms is not seen in 10 ms.
        assert_eq!(at((0..6000).map(|n| 5 * n)), Spacing::Unknown);
        assert_eq!(at(std::iter::empty()), Spacing::Unknown);
    }
}
