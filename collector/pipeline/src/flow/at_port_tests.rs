// SPDX-License-Identifier: Apache-2.0
use super::*;
use proptest::prelude::*;

impl FlowAtPort {
    /// Number of segments that await their acknowledgement.
    pub(crate) fn remembered(&self) -> usize {
        self.segments.len()
    }
}

#[test]
fn holes_tell_reordering_from_repetition() {
    let (mut p, memory) = (FlowAtPort::new(0, (1, 0)), &mut SegmentMemory::new(0));
    assert_eq!(p.arrival(1000, 2000, 50, memory), Arrival::New);
    assert_eq!(p.arrival(4000, 5000, 50, memory), Arrival::New);
    assert_eq!(p.arrival(2000, 3000, 51, memory), Arrival::Hole);
    assert_eq!(p.arrival(2000, 3000, 50, memory), Arrival::Again);
    // The segment came before; only its report is late.
    assert_eq!(p.arrival(3000, 4000, 49, memory), Arrival::New);
    assert_eq!(p.arrival(3000, 4000, 50, memory), Arrival::Again);
    assert_eq!(p.arrival(5000, 6000, 50, memory), Arrival::New);
}

#[test]
fn segments_that_nothing_tells_of_are_bounded() {
    let (mut p, memory) = (FlowAtPort::new(0, (1, 0)), &mut SegmentMemory::new(0));
    for n in 0..100_000u64 {
        let s = Segment::new(n * 10, n * 10 + 10, n, n).left(n + 5);
        p.remember(s.waiting(true), n.saturating_sub(1000), memory);
    }
    assert!(p.remembered() <= MAX_UNACKED, "{}", p.remembered());
    assert_eq!(memory.taken_bytes, MAX_UNACKED * size_of::<Segment>());
    assert_eq!(memory.taken_bytes, p.bytes());
    // Segments in the queue are still found.
    let shown = std::iter::from_fn(|| p.shown(999_990)).filter(|s| s.position() > 99_000);
    assert_eq!(shown.count(), 998);
}

/// Two plain lists to compare with: segments that wait, and segments that passed and are not
/// acknowledged.
#[derive(Default)]
struct Plain {
    waiting: Vec<(u64, u64)>,
    passed: Vec<(u64, u64)>,
}

proptest! {
    #[test]
    fn agrees_with_two_lists(
        steps in prop::collection::vec((0u64..12, any::<bool>(), 0u64..30, 0u64..30), 1..300),
    ) {
        let (mut p, memory) = (FlowAtPort::new(0, (1, 0)), &mut SegmentMemory::new(0));
        let mut plain = Plain::default();
        let (mut highest, mut snd_nxt, mut una) = (100u64, 0u64, 0u64);
        for (position, (kind, passed, a, b)) in (0u64..).zip(steps) {
            if kind < 9 {
                // A new segment, or one that is reported late.
                let seq = if kind < 7 { highest } else { highest.saturating_sub(a * 10).max(una) };
                highest = highest.max(seq + 10);
                let waits = seq >= snd_nxt;
                if !passed && !waits {
                    continue;
                }
                let mut s = Segment::new(seq, seq + 10, position, position).waiting(waits);
                if passed {
                    s = s.left(position + 7);
                    let at = plain.passed.partition_point(|s| s.0 <= seq);
                    plain.passed.insert(at, (seq, position + 7));
                }
                if waits {
                    let at = plain.waiting.partition_point(|s| s.0 <= seq);
                    plain.waiting.insert(at, (seq, position));
                }
                p.remember(s, 0, memory);
            } else {
                snd_nxt = snd_nxt.max(highest.saturating_sub(a * 10));
                let before = una;
                una = una.max(snd_nxt.saturating_sub(b * 10));
                let shown: Vec<_> = std::iter::from_fn(|| p.shown(snd_nxt))
                    .filter(Segment::waits)
                    .map(|s| (s.seq, s.position()))
                    .collect();
                let n = plain.waiting.partition_point(|s| s.0 < snd_nxt);
                prop_assert_eq!(shown, plain.waiting.drain(..n).collect::<Vec<_>>());
                let n = plain.passed.partition_point(|s| s.0 + 10 <= una);
                let latest = plain.passed.drain(..n).map(|s| s.1).max();
                prop_assert_eq!(p.acked(before, una).map(|a| a.egress_ns), latest);
            }
        }
    }
}

#[test]
fn base_rtt_is_srtt_less_the_smoothed_delay() {
    let (mut p, memory) = (FlowAtPort::new(0, (1, 0)), &mut SegmentMemory::new(0));
    p.syn(1_000_000);
    let mut srtt = 21_000.0;
    for i in 0..100u64 {
        let delay = 1_000_000 + i * 100_000;
        let came = 1_000_000_000 + i;
        let s = Segment::new(i * 10, i * 10 + 10, came, i).left(came + delay);
        p.remember(s, 0, memory);
        p.acked(i * 10, i * 10 + 10);
        srtt += (20_000.0 + delay as f64 / 1000.0 - srtt) / 8.0;
        let base = p.base_rtt_us(srtt as u32);
        assert!(base.abs_diff(20_000) <= 1, "{i}: {base}");
    }
    p.disturbed();
    assert_eq!(p.base_rtt_us(srtt as u32), 0);
}

/// The receiver acknowledges every second segment: the first waits for the second.
#[test]
fn a_delayed_acknowledgement_does_not_lengthen_the_base_rtt() {
    let (mut p, memory) = (FlowAtPort::new(0, (1, 0)), &mut SegmentMemory::new(0));
    p.syn(1_000_000);
    let (mut srtt, gap, delay) = (21_000.0, 4_000_000, 1_000_000);
    for i in (0..200u64).step_by(2) {
        let came = 1_000_000_000 + i * gap;
        for (n, came) in [(i, came), (i + 1, came + gap)] {
            let s = Segment::new(n * 10, n * 10 + 10, came, n).left(came + delay);
            p.remember(s, 0, memory);
        }
        p.acked(i * 10, i * 10 + 20);
        srtt += ((20_000_000 + gap + delay) as f64 / 1000.0 - srtt) / 8.0;
    }
    let base = p.base_rtt_us(srtt as u32);
    assert!(base.abs_diff(20_000) <= 1, "{base}");
}
