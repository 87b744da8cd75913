// SPDX-License-Identifier: Apache-2.0

use proptest::prelude::*;

use super::*;

const PACKET: u64 = 1000;

/// The paper's §5: thresholds of 5 and 15 packets, `max_p` of 1/50.
fn paper(gentle: bool) -> RedConfig {
    RedConfig {
        gentle,
        ..RedConfig::from_threshold(5 * PACKET)
    }
}

fn seen(queue_bytes: u64) -> Seen {
    Seen {
        now_ns: 0,
        frame_bytes: PACKET,
        markable: false,
        queue_bytes,
        rate_bps: 8_000_000,
    }
}

/// RED at a queue whose average does not change.
fn steady(config: RedConfig, packets: f64) -> Red {
    let mut red = Red::new(config);
    red.average_bytes = packets * PACKET as f64;
    red
}

#[test]
fn the_probability_at_the_papers_parameters() {
    let at = |gentle, packets: f64| paper(gentle).probability(packets * PACKET as f64);
    for gentle in [true, false] {
        for (packets, p) in [
            (0.0, 0.0),
            (4.99, 0.0),
            (5.0, 0.0),
            (10.0, 0.01),
            (12.5, 0.015),
        ] {
            assert!((at(gentle, packets) - p).abs() < 1e-12, "{packets}");
        }
    }
    assert!((at(true, 15.0) - 0.02).abs() < 1e-12);
    // Halfway from 1/50 to 1.
    assert!((at(true, 22.5) - 0.51).abs() < 1e-12);
    assert!((at(true, 30.0) - 1.0).abs() < 1e-12);
    assert!((at(false, 15.0) - 1.0).abs() < 1e-12);
}

/// The paper's §7: with method 2 and p_b = 1/50, the gap is uniform on 1..=50, of mean 25.5.
/// (Independent draws have a geometric gap of mean 50.)
#[test]
fn gaps_between_drops_are_uniform() {
    let mut red = steady(paper(true), 15.0);
    let mut random = Random::of(7);
    let meets = seen(15 * PACKET);
    let mut gaps = [0u32; 51];
    let mut gap = 0;
    for _ in 0..1_000_000 {
        gap += 1;
        if red.arrive(&meets, &mut random) == Verdict::Drop {
            gaps[std::mem::take(&mut gap)] += 1;
        }
    }
    let drops: u32 = gaps.iter().sum();
    let mean = 1_000_000.0 / f64::from(drops);
    assert!((mean - 25.5).abs() < 0.2, "{mean}");
    let each = f64::from(drops) / 50.0;
    let chi_square: f64 = gaps[1..]
        .iter()
        .map(|n| (f64::from(*n) - each).powi(2) / each)
        .sum();
    // 49 degrees of freedom: exceeds 85 once in a thousand.
    assert!(chi_square < 85.0, "{chi_square}");
}

/// The paper's §6, the upper bound of w_q: with 0.001, 100 arrivals into a queue that grows by
/// one packet each bring the average from 0 to 4.88 packets.
#[test]
fn the_average_follows_a_growing_queue_slowly() {
    let mut red = Red::new(RedConfig {
        weight: 0.001,
        ..paper(true)
    });
    (1..=100).for_each(|packets| red.average(&seen(packets * PACKET)));
    let packets = red.average_bytes / PACKET as f64;
    let closed = 101.0 + (0.999f64.powi(101) - 1.0) / 0.001;
    assert!((packets - closed).abs() < 1e-9, "{packets}");
    assert!((4.88..4.89).contains(&packets));
}

/// The paper's §4: an idle line counts as if it had sent small packets.
#[test]
fn the_average_falls_while_the_line_is_idle() {
    let mut red = steady(paper(true), 10.0);
    red.leave(&Seen {
        now_ns: 1_000_000,
        ..seen(0)
    });
    // 1000 bytes at 8 Mb/s take 1 ms.
    red.average(&Seen {
        now_ns: 501_000_000,
        ..seen(0)
    });
    let packets = red.average_bytes / PACKET as f64;
    assert!(
        (packets - 10.0 * 0.998f64.powi(500)).abs() < 1e-9,
        "{packets}"
    );
    // Without a rate the queue never builds up.
    red.average(&Seen {
        rate_bps: 0,
        ..seen(0)
    });
    assert!(red.average_bytes < 1e-9);
}

#[test]
fn marks_end_where_all_are_dropped() {
    let markable = |packets: u64| Seen {
        markable: true,
        ..seen(packets * PACKET)
    };
    let mut random = Random::of(1);
    let fates = |packets: u64, random: &mut Random| {
        let mut red = steady(paper(true), packets as f64);
        let fates = (0..1000).map(|_| red.arrive(&markable(packets), random));
        let fates: Vec<_> = fates.collect();
        let count = |v| fates.iter().filter(|f| **f == v).count();
        (count(Verdict::Mark), count(Verdict::Drop))
    };
    let (marked, dropped) = fates(12, &mut random);
    assert!(marked > 20 && dropped == 0, "{marked} {dropped}");
    let (marked, dropped) = fates(29, &mut random);
    assert!(marked > 900 && dropped == 0, "{marked} {dropped}");
    assert_eq!(fates(31, &mut random), (0, 1000));
}

#[test]
fn nonsense_is_refused() {
    assert!(paper(true).check().is_ok());
    let with = |change: fn(&mut RedConfig)| {
        let mut c = paper(true);
        change(&mut c);
        c.check().unwrap_err()
    };
    assert!(with(|c| c.max_threshold_bytes = 5000).contains("max_threshold (5000 B)"));
    assert!(with(|c| c.min_threshold_bytes = 0).contains("min_threshold (0 B)"));
    assert!(with(|c| c.max_probability = 0.0).contains("max_probability"));
    assert!(with(|c| c.weight = f64::NAN).contains("weight"));
    assert!(with(|c| c.weight = 1.5).contains("weight"));
    assert!(with(|c| c.mean_packet_bytes = 0).contains("mean_packet"));
}

proptest! {
    #[test]
    fn below_the_threshold_nothing_is_dropped(
        queues in prop::collection::vec(0..5 * PACKET, 1..500),
        weight in 0.001f64..1.0,
    ) {
        let mut red = Red::new(RedConfig { weight, ..paper(true) });
        let mut random = Random::of(3);
        for queue in queues {
            prop_assert_eq!(red.arrive(&seen(queue), &mut random), Verdict::Pass);
        }
    }

    /// The (1/p)th packet is dropped at the latest.
    #[test]
    fn no_gap_is_longer_than_the_probability_allows(packets in 5.1f64..29.9, seed: u64) {
        let mut red = steady(paper(true), packets);
        let meets = seen(red.average_bytes as u64);
        red.average_bytes = meets.queue_bytes as f64;
        let p = red.config.probability(red.average_bytes);
        let mut random = Random::of(seed);
        let mut gap = 0.0;
        for _ in 0..5000 {
            gap += 1.0;
            prop_assert!(gap <= (1.0 / p).ceil() + 1.0, "{} of {}", gap, 1.0 / p);
            if red.arrive(&meets, &mut random) == Verdict::Drop {
                gap = 0.0;
            }
        }
    }
}
