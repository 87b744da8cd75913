// SPDX-License-Identifier: Apache-2.0

use proptest::prelude::*;

use super::*;

const MS: u64 = 1_000_000;

fn seen(now_ns: u64) -> Seen {
    Seen {
        now_ns,
        frame_bytes: 1514,
        markable: false,
        queue_bytes: 100_000,
        rate_bps: 0,
    }
}

/// A controller with this probability, whose delay went from `old` to `delay`, in ms.
fn pie(probability: f64, old: u64, delay: u64) -> Pie {
    Pie {
        probability,
        old_delay_ns: old * MS,
        delay_ns: delay * MS,
        burst_allowance_ns: 0,
        ..Pie::new(PieConfig::default())
    }
}

/// RFC 8033 §4.2 by hand: 0.125 · (25 - 15) ms + 1.25 · (25 - 20) ms = 0.0075, divided by the
/// table's divisor for the probability.
#[test]
fn a_change_is_divided_by_the_auto_tuning_table() {
    for (probability, divisor) in [
        (0.0, 2048.0),
        (0.000_000_9, 2048.0),
        (0.000_001, 512.0),
        (0.000_01, 128.0),
        (0.000_1, 32.0),
        (0.001, 8.0),
        (0.01, 2.0),
        (0.099, 2.0),
        (0.1, 1.0),
        (0.5, 1.0),
    ] {
        let mut p = pie(probability, 20, 25);
        p.update();
        let change = p.probability - probability;
        assert!(
            (change - 0.0075 / divisor).abs() < 1e-12,
            "at {probability}: {change}"
        );
        assert_eq!(p.old_delay_ns, 25 * MS);
    }
}

/// RFC 8033 §5.5 and the bounds of §4.2.
#[test]
fn the_probability_grows_by_two_percent_and_stays_within_its_bounds() {
    let mut p = pie(0.1, 0, 500);
    p.update();
    assert!((p.probability - 0.12).abs() < 1e-12);
    let mut p = pie(0.99, 0, 500);
    p.update();
    assert!((p.probability - 1.0).abs() < 1e-12);
    let mut p = pie(0.001, 100, 0);
    p.update();
    assert!(p.probability.abs() < 1e-12);
}

/// RFC 8033 §4.2: 0.125 · (0 - 15) ms, then 2 % off the rest.
#[test]
fn without_a_queue_the_probability_decays() {
    let mut p = pie(0.5, 0, 0);
    p.update();
    assert!((p.probability - (0.5 - 0.001_875) * 0.98).abs() < 1e-12);
}

/// RFC 8033 §4.4: nothing is dropped for 150 ms; then the probability applies.
#[test]
fn a_burst_into_an_idle_queue_passes() {
    let mut p = Pie::new(PieConfig::default());
    let mut random = Random::of(1);
    let mut first = None;
    for at in (0..4_000).map(|ms| ms * MS) {
        p.leave(&seen(at), 100 * MS);
        if p.arrive(&seen(at), &mut random) == Verdict::Drop {
            first = first.or(Some(at));
        }
    }
    // Ten updates, then 0.85 drops have to accumulate first (§5.4).
    let first = first.unwrap();
    assert!((150 * MS..600 * MS).contains(&first), "{first}");
    assert_eq!(p.burst_allowance_ns, 0);
    // The last packet leaves, and the allowance is restored.
    let empty = Seen {
        queue_bytes: 0,
        ..seen(4_000 * MS)
    };
    p.leave(&empty, 100 * MS);
    p.arrive(&seen(10_000 * MS), &mut random);
    assert_eq!(p.burst_allowance_ns, 150 * MS);
}

/// RFC 8033 §4.1.
#[test]
fn a_short_queue_and_a_low_delay_are_left_alone() {
    let drops = |p: &mut Pie, queue_bytes| {
        let meets = Seen {
            queue_bytes,
            ..seen(0)
        };
        let mut random = Random::of(1);
        (0..1000)
            .filter(|_| p.arrive(&meets, &mut random) == Verdict::Drop)
            .count()
    };
    assert_eq!(drops(&mut pie(0.5, 50, 50), 2 * 1514), 0);
    assert_eq!(drops(&mut pie(0.19, 7, 50), 100_000), 0);
    assert!(drops(&mut pie(0.21, 7, 50), 100_000) > 50);
    assert!(drops(&mut pie(0.19, 8, 50), 100_000) > 50);
}

/// RFC 8033 §5.4: no drop within 0.85/p packets of the last, and none later than 8.5/p.
#[test]
fn drops_are_neither_too_close_nor_too_far() {
    let mut p = pie(1.0 / 128.0, 50, 50);
    let mut random = Random::of(2);
    let (mut gap, mut gaps) = (0, Vec::new());
    for _ in 0..1_000_000 {
        gap += 1;
        if p.arrive(&seen(0), &mut random) == Verdict::Drop {
            gaps.push(std::mem::take(&mut gap));
        }
    }
    assert!(gaps.iter().all(|g| (109..=1088).contains(g)));
    let mean = 1_000_000.0 / gaps.len() as f64;
    // 108 packets, then a geometric gap of mean 128.
    assert!((mean - 236.0).abs() < 5.0, "{mean}");
}

/// RFC 8033 §5.1.
#[test]
fn marks_end_at_ten_percent() {
    let fates = |p: f64| {
        let mut p = pie(p, 50, 50);
        let markable = Seen {
            markable: true,
            ..seen(0)
        };
        let mut random = Random::of(1);
        let fates = (0..1000).map(|_| p.arrive(&markable, &mut random));
        let fates: Vec<_> = fates.filter(|f| *f != Verdict::Pass).collect();
        assert!(!fates.is_empty());
        fates.iter().all(|f| *f == Verdict::Mark)
    };
    assert!(fates(0.1));
    assert!(!fates(0.101));
}

#[test]
fn hours_of_silence_cost_nothing() {
    let mut p = Pie::new(PieConfig::default());
    p.run_until(100 * 3_600_000 * MS + 1);
    assert_eq!(p.next_update_ns, 100 * 3_600_000 * MS + 15 * MS);
}

#[test]
fn nonsense_is_refused() {
    assert!(PieConfig::default().check().is_ok());
    let with = |change: fn(&mut PieConfig)| {
        let mut c = PieConfig::default();
        change(&mut c);
        c.check().unwrap_err()
    };
    assert!(with(|c| c.target_ns = 0).contains("target"));
    assert!(with(|c| c.update_interval_ns = 1).contains("update_interval"));
    assert!(with(|c| c.alpha = -1.0).contains("alpha"));
    assert!(with(|c| c.beta = f64::NAN).contains("beta"));
}

proptest! {
    /// While the delay stays below half of the target, nothing is dropped.
    #[test]
    fn below_half_of_the_target_nothing_is_dropped(
        delays in prop::collection::vec(0..7 * MS, 1..500),
    ) {
        let mut p = Pie::new(PieConfig::default());
        let mut random = Random::of(3);
        for (at, delay) in (0..).step_by(10).zip(delays) {
            p.leave(&seen(at * MS), delay);
            prop_assert_eq!(p.arrive(&seen(at * MS), &mut random), Verdict::Pass);
        }
    }
}
