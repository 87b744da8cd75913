// SPDX-License-Identifier: Apache-2.0
//! Largest number of packets that a flow ever has in flight, and how often it has time for more.
//!
//! A window that losses keep small grows whenever they leave it alone: growth from one segment to w
//! takes w(w − 1) packets without a loss (RFC 5681 with delayed acknowledgements, half a segment
//! per round trip), and w more are in flight then. A flow that sends this many packets without a
//! loss and yet never has w in flight has another limit, however often it loses.

use crate::window::FlowWindow;
use tidemark_proto::telemetry::FlowInterval;

/// A flow's largest window, as far as observed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Ceiling {
    /// Most packets that left within a round trip.
    pub packets: u64,
    /// Stretches without a loss that were long enough to grow by one more packet.
    pub grown_past: u32,
}

/// `base_s` is the base RTT plus the transmission of a packet; `losses_ns` are the times of drops
/// and retransmissions, ascending. `None` if round trips are shorter than a record.
pub(crate) fn ceiling(
    flow: &FlowWindow<'_>,
    base_s: f64,
    losses_ns: &[u64],
    since_ns: u64,
) -> Option<Ceiling> {
    let records = flow.history.iter().copied();
    let records: Vec<&FlowInterval> = records
        .filter(|r| r.packets > 0 && r.start_ns >= since_ns)
        .collect();
    let packets = most_in_a_round_trip(&records, (base_s.max(0.0) * 1e9) as u64)?;
    let to_grow = packets.saturating_add(1).saturating_pow(2);
    let stretches = stretches(&records, losses_ns);
    Some(Ceiling {
        packets,
        grown_past: stretches.filter(|&sent| sent >= to_grow).count() as u32,
    })
}

/// Most packets within a round trip. The response to a packet leaves a base RTT plus the current
/// delay after it. Records that lie within that time hold at most the window; a window spread over
/// the whole round trip holds more, in proportion to the lengths.
fn most_in_a_round_trip(records: &[&FlowInterval], base_ns: u64) -> Option<u64> {
    let record_ns = records.first()?.duration_ns.max(1);
    if base_ns < record_ns {
        return None;
    }
    let (mut first, mut packets, mut most) = (0, 0u64, 0.0f64);
    for last in records {
        packets += u64::from(last.packets);
        let rtt_ns = base_ns.saturating_add(last.delay_sum_ns / u64::from(last.packets));
        let begins_ns = (last.start_ns + last.duration_ns).saturating_sub(rtt_ns);
        while let Some(r) = records.get(first).filter(|r| r.start_ns < begins_ns) {
            packets -= u64::from(r.packets);
            first += 1;
        }
        // The delay may have grown by more than the time since the previous record.
        while first > 0
            && let Some(r) = records.get(first - 1).filter(|r| r.start_ns >= begins_ns)
        {
            packets += u64::from(r.packets);
            first -= 1;
        }
        let seen_ns = rtt_ns / record_ns * record_ns;
        most = most.max(packets as f64 * rtt_ns as f64 / seen_ns as f64);
    }
    Some(most.round() as u64)
}

/// Packets that left between consecutive losses.
fn stretches(records: &[&FlowInterval], losses_ns: &[u64]) -> impl Iterator<Item = u64> {
    let mut losses = losses_ns.iter().copied().peekable();
    let mut sent = vec![0];
    for r in records {
        let end_ns = r.start_ns + r.duration_ns;
        if losses.next_if(|&loss| loss < end_ns).is_some() {
            while losses.next_if(|&loss| loss < end_ns).is_some() {}
            sent.push(0);
        }
        if let Some(last) = sent.last_mut() {
            *last += u64::from(r.packets);
        }
    }
    sent.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_proto::telemetry::FlowInterval;

    const RECORD_NS: u64 = 10_000_000;

    /// `windows` packets per round trip of 60 ms, of which two thirds are in the queue, and a loss
    /// at the end of every `period` round trips.
    fn seen(windows: impl Fn(u64) -> u32, rounds: u64, period: u64) -> Ceiling {
        let records: Vec<FlowInterval> = (0..rounds)
            .map(|i| FlowInterval {
                start_ns: 6 * i * RECORD_NS,
                duration_ns: RECORD_NS,
                packets: windows(i),
                delay_sum_ns: u64::from(windows(i)) * 20_000_000,
                ..FlowInterval::default()
            })
            .collect();
        let losses: Vec<u64> = (1..=rounds / period)
            .map(|k| 6 * period * k * RECORD_NS)
            .collect();
        let flow = FlowWindow::of_records(records.iter().collect());
        ceiling(&flow, 0.04, &losses, 0).unwrap()
    }

    #[test]
    fn a_window_of_two_packets_stays_where_losses_let_it_grow() {
        // Nine packets in five round trips are enough for a third packet in flight.
        let capped = seen(|_| 2, 100, 5);
        assert_eq!((capped.packets, capped.grown_past), (2, 20));
        let no_time = seen(|_| 2, 100, 4);
        assert_eq!((no_time.packets, no_time.grown_past), (2, 0));
    }

    /// Grows by half a segment per round trip from one segment, and falls back to one at each loss.
    #[test]
    fn a_window_that_grows_is_never_past_its_time() {
        for period in 2..40 {
            let sawtooth = seen(|i| 1 + (i % period) as u32 / 2, 400, period);
            assert_eq!(sawtooth.grown_past, 0, "{period} {sawtooth:?}");
        }
    }

    #[test]
    fn short_round_trips_show_no_window() {
        let record = FlowInterval {
            duration_ns: RECORD_NS,
            packets: 1,
            ..FlowInterval::default()
        };
        let flow = FlowWindow::of_records(vec![&record]);
        assert_eq!(ceiling(&flow, 0.009, &[], 0), None);
        assert!(ceiling(&flow, 0.011, &[], 0).is_some());
    }
}
