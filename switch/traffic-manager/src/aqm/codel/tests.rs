// SPDX-License-Identifier: Apache-2.0

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

const MS: u64 = 1_000_000;
const FRAME: u64 = 1514;

/// A packet of a queue with a long backlog.
fn seen(now_ns: u64) -> Seen {
    Seen {
        now_ns,
        frame_bytes: FRAME,
        markable: false,
        queue_bytes: 100 * FRAME,
        rate_bps: 0,
    }
}

fn codel(config: CoDelConfig) -> CoDel {
    let mut c = CoDel::new(config);
    c.arrive(&seen(0));
    c
}

/// RFC 8289 §3.3: the first drop comes after one interval above the target; the gaps after it
/// are the interval divided by the square root of the number of drops.
#[test]
fn gaps_shrink_with_the_square_root_of_the_count() {
    let mut c = codel(CoDelConfig::default());
    let step = MS / 100;
    let drops: Vec<u64> = (0..200_000)
        .map(|i| i * step)
        .filter(|t| c.leave(&seen(*t), 50 * MS) == Verdict::Drop)
        .collect();
    let mut expected = 100.0 * MS as f64;
    for (n, at) in drops.iter().enumerate() {
        let late = *at as f64 - expected;
        // Times are truncated to whole ns, once per drop.
        let is_due = (-(n as f64) - 1.0..2.0 * step as f64).contains(&late);
        assert!(is_due, "drop {n}: {late} ns");
        expected += 100.0 * MS as f64 / ((n + 1) as f64).sqrt();
    }
    // Σ 1/√n of n drops is 2√n - 1.46: (2000/100 + 0.46)²/4 of them in 2 s.
    assert!((100..=108).contains(&drops.len()), "{}", drops.len());
}

#[test]
fn a_mark_takes_the_place_of_a_drop() {
    let ecn = CoDelConfig {
        ecn: true,
        ..CoDelConfig::default()
    };
    let (mut dropping, mut marking) = (codel(CoDelConfig::default()), codel(ecn));
    for i in 0..200_000 {
        let dropped = seen(i * MS / 100);
        let marked = Seen {
            markable: true,
            ..dropped
        };
        let verdict = marking.leave(&marked, 50 * MS);
        assert_ne!(verdict, Verdict::Drop);
        let is_first = dropping.leave(&dropped, 50 * MS) == Verdict::Drop;
        assert_eq!(is_first, verdict == Verdict::Mark, "packet {i}");
        if is_first {
            // The next packet takes the dropped packet's place.
            dropping.leave(&dropped, 50 * MS);
        }
    }
}

#[test]
fn nonsense_is_refused() {
    let with = |target_ns, interval_ns| {
        CoDelConfig {
            target_ns,
            interval_ns,
            ecn: false,
        }
        .check()
    };
    assert!(with(5, 100).is_ok());
    for bad in [with(0, 100), with(100, 100), with(0, 0)] {
        assert!(bad.unwrap_err().contains("target"));
    }
}

/// The RFC's routines as written there, with a queue of their own.
#[derive(Default)]
struct Reference {
    target: u64,
    interval: u64,
    queue: VecDeque<(u64, u64)>,
    bytes: u64,
    max_packet: u64,
    first_above: u64,
    drop_next: u64,
    count: u64,
    last_count: u64,
    dropping: bool,
    dropped: Vec<u64>,
}

impl Reference {
    fn law(&self, t: u64) -> u64 {
        t + (self.interval as f64 / (self.count as f64).sqrt()) as u64
    }

    fn do_dequeue(&mut self, now: u64) -> (Option<(u64, u64)>, bool) {
        let Some(p) = self.queue.pop_front() else {
            self.first_above = 0;
            return (None, false);
        };
        self.bytes -= p.1;
        if now - p.0 < self.target || self.bytes <= self.max_packet {
            self.first_above = 0;
            return (Some(p), false);
        }
        if self.first_above == 0 {
            self.first_above = now + self.interval;
            return (Some(p), false);
        }
        (Some(p), now >= self.first_above)
    }

    fn dequeue(&mut self, now: u64) -> Option<(u64, u64)> {
        let (mut p, mut ok) = self.do_dequeue(now);
        if self.dropping {
            self.dropping = ok;
            while now >= self.drop_next && self.dropping {
                self.dropped.extend(p.map(|p| p.0));
                self.count += 1;
                (p, ok) = self.do_dequeue(now);
                if ok {
                    self.drop_next = self.law(self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok {
            self.dropped.extend(p.map(|p| p.0));
            (p, _) = self.do_dequeue(now);
            self.dropping = true;
            let delta = self.count - self.last_count;
            self.count = 1;
            if delta > 1 && now.saturating_sub(self.drop_next) < 16 * self.interval {
                self.count = delta;
            }
            self.drop_next = self.law(now);
            self.last_count = self.count;
        }
        p
    }
}

proptest! {
    /// Under loads that come and go, every packet meets the fate that the RFC's code gives it.
    #[test]
    fn fates_are_those_of_the_rfc(
        phases in prop::collection::vec((1u64..40, 1u64..40, 10u64..2000), 1..12),
        sizes in prop::collection::vec(60u64..1515, 1..20),
        interval in 20u64..2000,
    ) {
        let target = interval / 20 + 1;
        let config = CoDelConfig { target_ns: target, interval_ns: interval, ecn: false };
        let mut ours = CoDel::new(config);
        let (mut waiting, mut bytes, mut dropped) = (VecDeque::new(), 0, Vec::new());
        let mut rfc = Reference { target, interval, ..Reference::default() };
        let (mut arrival, mut departure, mut n) = (1u64, 1u64, 0);
        for (gap, service, packets) in phases {
            let end = arrival + gap * packets;
            while arrival < end {
                if arrival <= departure {
                    let size = sizes[n % sizes.len()];
                    n += 1;
                    rfc.queue.push_back((arrival, size));
                    rfc.bytes += size;
                    rfc.max_packet = rfc.max_packet.max(size);
                    ours.arrive(&Seen { frame_bytes: size, ..seen(arrival) });
                    waiting.push_back((arrival, size));
                    bytes += size;
                    arrival += gap;
                    continue;
                }
                let now = departure;
                departure += service;
                let mut left = None;
                while let Some((came, size)) = waiting.pop_front() {
                    bytes -= size;
                    let p = Seen { frame_bytes: size, queue_bytes: bytes, ..seen(now) };
                    if ours.leave(&p, now - came) == Verdict::Pass {
                        left = Some((came, size));
                        break;
                    }
                    dropped.push(came);
                    prop_assert!(now - came >= target, "below the target");
                    prop_assert!(bytes > 0, "the last packet of the queue");
                }
                prop_assert_eq!(left, rfc.dequeue(now));
                prop_assert_eq!(&dropped, &rfc.dropped);
            }
        }
    }
}
