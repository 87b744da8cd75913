// SPDX-License-Identifier: Apache-2.0
use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

fn stream(bits: u8) -> Stream {
    Stream::new(bits, &StreamConfig::default())
}

fn feed(stream: &mut Stream, sequences: impl IntoIterator<Item = u32>) {
    for sequence in sequences {
        stream.observe(sequence, None);
    }
}

const UNNUMBERED: Outcome = Outcome::Unnumbered { not_lost: 0 };

#[test]
fn wrap_of_22_bits_is_no_loss() {
    let mut s = stream(22);
    assert_eq!(s.observe(0x3f_fffe, None), Outcome::First);
    assert_eq!(s.observe(0x3f_ffff, None), Outcome::InOrder);
    assert_eq!(s.observe(0, None), Outcome::InOrder);
    assert_eq!(s.observe(2, None), Outcome::Gap { lost: 1 });
    assert_eq!(s.observe(1, None), Outcome::Late);
    assert_eq!(s.observe(1, None), Outcome::Duplicate);
    assert_eq!(s.counts.lost, 0);
    assert_eq!(s.counts.duplicate, 1);
}

#[test]
fn wrap_of_32_bits_is_no_loss() {
    let mut s = stream(32);
    feed(&mut s, [u32::MAX - 1, u32::MAX, 0, 1]);
    assert_eq!(
        s.counts,
        Counts {
            received: 4,
            ..Counts::default()
        }
    );
}

#[test]
fn later_arrivals_from_before_the_first_are_not_credited() {
    let mut s = stream(22);
    feed(&mut s, [10, 12, 9, 8, 8]);
    let counts = s.counts;
    assert_eq!((counts.lost, counts.late, counts.duplicate), (1, 2, 1));
}

/// The new clock's time is near the old one, so that only tracking the clock tells them apart.
#[test]
fn numbers_of_another_clock_came_never_before() {
    const S: u64 = 1_000_000_000;
    let mut s = stream(22);
    for number in 0..100 {
        s.observe(number, Some(9 * S));
    }
    s.clock_restarted();
    assert_eq!(s.observe(50, Some(9 * S)), Outcome::Restart);
    assert_eq!(s.observe(51, Some(9 * S)), Outcome::InOrder);
    assert_eq!((s.counts.restarts, s.counts.duplicate), (1, 0));
}

/// A silence after which the clock is not believed at once does not begin a new numbering.
#[test]
fn numbers_that_go_on_under_another_clock_are_counted() {
    const S: u64 = 1_000_000_000;
    let mut s = stream(22);
    s.observe(7, Some(9 * S));
    s.clock_restarted();
    assert_eq!(s.observe(10, Some(999 * S)), Outcome::Gap { lost: 2 });
    assert_eq!(s.observe(11, Some(999 * S)), Outcome::InOrder);
    assert_eq!(s.counts.restarts, 0);
}

/// Skipped numbers are also counted, if the rate before explains them.
#[test]
fn numbers_lost_in_a_long_silence_under_another_clock_are_counted() {
    const MS: u64 = 1_000_000;
    let mut s = stream(22);
    for number in 0..100 {
        s.observe(number, Some(u64::from(number) * MS));
    }
    s.clock_restarted();
    assert_eq!(s.observe(60_000, Some(60_000 * MS)), Outcome::Implausible);
    let gap = Outcome::Gap { lost: 59_900 };
    assert_eq!(s.observe(60_001, Some(60_001 * MS)), gap);
    assert_eq!(s.counts.restarts, 0);
}

#[test]
fn beyond_the_window_nothing_is_corrected() {
    let mut s = Stream::new(
        22,
        &StreamConfig {
            window: 64,
            ..StreamConfig::default()
        },
    );
    feed(&mut s, [5_000, 5_002, 5_100, 5_101]);
    assert_eq!(s.counts.lost, 98);
    assert_eq!(s.observe(5_001, None), Outcome::Stale);
    assert_eq!(s.counts.lost, 98);
}

#[test]
fn damaged_numbers_are_no_loss_but_a_burst_is() {
    let mut s = stream(22);
    let mut at_ns = 10_000_000_000u64;
    let mut number = 100_000u32;
    for k in 0..10_000u32 {
        at_ns += 100_000;
        number += 1;
        s.observe(number, Some(at_ns));
        // Bits of the low bytes flipped.
        if k % 5 == 4 {
            s.observe(number ^ (0x1900 + k % 7), Some(at_ns + 1_000));
        }
    }
    let lost = s.counts.lost;
    assert!(lost < 100, "{lost}");
    // 5000 reports of a line-rate burst that were lost within 20 ms.
    for _ in 0..10 {
        at_ns += 20_000_000;
        number += 5_001;
        s.observe(number, Some(at_ns));
        number += 1;
        s.observe(number, Some(at_ns + 4_000));
    }
    assert_eq!(s.counts.lost - lost, 50_000);
    assert_eq!(s.counts.restarts, 0);
}

#[test]
fn a_clock_that_restarted_is_a_restart_even_within_the_window() {
    let mut s = stream(22);
    for n in 1..=50u32 {
        s.observe(n, Some(10_000_000_000 + u64::from(n)));
    }
    // One datagram alone shows nothing about the clock.
    assert_eq!(s.clone().observe(1, Some(1_000)), Outcome::Duplicate);
    s.clock_restarted();
    assert_eq!(s.observe(1, Some(1_000)), Outcome::Restart);
    assert_eq!(s.observe(2, Some(2_000)), Outcome::InOrder);
    let counts = s.counts;
    assert_eq!((counts.restarts, counts.lost, counts.duplicate), (1, 0, 0));
}

#[test]
fn restart_without_clock_is_found_from_the_jump_to_a_low_number() {
    let mut s = stream(22);
    feed(&mut s, [3_000_000, 3_000_001, 1, 2]);
    assert_eq!((s.counts.restarts, s.counts.lost), (1, 0));
    let mut s = stream(32);
    feed(&mut s, [200_000, 200_001, 0, 1]);
    assert_eq!((s.counts.restarts, s.counts.lost), (1, 0));
}

#[test]
fn loss_of_more_than_half_the_range_needs_the_clock() {
    let mut s = stream(22);
    s.observe(1, Some(0));
    // 3 million numbers later: without a clock this looks like "behind".
    let outcome = s.observe(3_000_001, Some(300_000_000));
    assert_eq!(outcome, Outcome::Implausible);
    let outcome = s.observe(3_000_002, Some(300_000_100));
    assert_eq!(outcome, Outcome::Gap { lost: 2_999_999 });
    assert_eq!((s.counts.lost, s.counts.implausible), (2_999_999, 0));
}

#[test]
fn a_damaged_number_is_no_loss() {
    let mut s = stream(32);
    for n in 0..10_000u32 {
        s.observe(n, Some(u64::from(n) * 1_000));
        if n % 100 == 7 {
            let damaged = n.wrapping_mul(2_654_435_761) | 0x1000_0000;
            s.observe(damaged, Some(u64::from(n) * 1_000));
        }
    }
    let counts = s.counts;
    assert_eq!((counts.lost, counts.restarts), (0, 0));
    assert_eq!(counts.implausible + counts.stale, 100);
}

#[test]
fn a_new_numbering_at_an_impossible_rate_is_no_loss() {
    let mut s = stream(32);
    for n in 0..1_000u32 {
        s.observe(n, Some(u64::from(n) * 1_000_000));
    }
    s.observe(1 << 30, Some(1_001_000_000));
    let outcome = s.observe((1 << 30) + 1, Some(1_002_000_000));
    assert_eq!(outcome, Outcome::Restart);
    assert_eq!((s.counts.lost, s.counts.restarts), (0, 1));
    assert_eq!(s.observe((1 << 30) + 2, None), Outcome::InOrder);
}

#[test]
fn a_stream_that_begins_with_a_damaged_number_counts_no_losses_from_it() {
    // The bits above the low sixteen are damaged, as are those that name the stream: it has no
    // genuine number at all, and now and then one confirms another.
    let mut s = stream(22);
    let mut random = 6u64;
    for n in 0..20_000u32 {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let damaged = ((random >> 58) as u32) << 16 | n & 0xffff;
        s.observe(damaged, Some(1_000_000_000 + u64::from(n) * 100_000));
    }
    let counts = s.counts;
    assert!(counts.restarts > 100, "{counts:?}");
    assert!(counts.lost < 20_000, "{counts:?}");
    // Then a sender with meaningful numbers is believed at once.
    for n in 3_000_000..3_000_100u32 {
        s.observe(n, Some(4_000_000_000 + u64::from(n) * 100));
    }
    let before = s.counts.lost;
    s.observe(3_000_110, Some(4_300_011_000));
    assert_eq!(s.counts.lost, before + 10);
}

#[test]
fn a_number_without_a_time_in_a_stream_with_times_explains_no_losses() {
    let mut s = stream(22);
    for n in 0..100u32 {
        s.observe(n, Some(1_000_000_000 + u64::from(n) * 1_000));
    }
    s.observe(1_000_000, None);
    s.observe(1_000_001, None);
    assert_eq!((s.counts.lost, s.counts.restarts), (0, 1));
}

/// Losses are counted by the rate before: 60 s at 100 000/s and 8 s at 800 000/s among them.
#[test]
fn an_outage_of_any_length_is_counted() {
    const RANGE: u64 = 1 << 22;
    let outages_s = [1, 3, 8, 20, 37, 60, 200, 1800, 7200];
    for (per_s, outage_s) in [100_000u64, 800_000]
        .into_iter()
        .flat_map(|rate| outages_s.map(|s| (rate, s)))
    {
        let mut s = stream(22);
        let mut told = 0u64;
        let (first, missing) = (2 * per_s, per_s * outage_s + 1);
        for n in (0..first).chain(first + missing..first + missing + per_s) {
            let time_ns = 1_000_000_000 + n * 1_000_000_000 / per_s;
            if let Outcome::Gap { lost } = s.observe(n as u32, Some(time_ns)) {
                told += u64::from(lost);
            }
        }
        let c = s.counts;
        let tellable = missing.min(u32::MAX.into());
        assert_eq!(
            (c.lost, told),
            (missing, tellable),
            "{per_s}/s, {outage_s} s: {c:?}"
        );
        assert_eq!(
            c.lost_estimated,
            missing / RANGE * RANGE,
            "{per_s}/s, {outage_s} s"
        );
        assert_eq!((c.restarts, c.duplicate, c.late), (0, 0, 0));
    }
}

/// Also in an outage after which the numbers are just behind the earlier ones.
#[test]
fn numbers_of_another_round_are_no_late_ones() {
    let mut s = stream(22);
    let rate = 100_000;
    let time = |n: u64| Some(n * 1_000_000_000 / rate);
    for n in 0..3 * rate {
        s.observe(n as u32, time(n));
    }
    let missing = (1 << 22) - 1000;
    for n in (3 * rate + missing..).take(5000) {
        s.observe(n as u32, time(n));
    }
    assert_eq!(
        (s.counts.lost, s.counts.late, s.counts.duplicate),
        (missing, 0, 0)
    );
}

#[test]
fn a_pause_without_traffic_is_no_outage() {
    let mut s = stream(22);
    let mut time_ns = 0;
    for n in 0..4_000_000u32 {
        // Bursts of a tenth of a second, and from time to time nothing for a minute or an hour.
        time_ns += match n % 1_000_000 {
            0 => 3_600_000_000_000,
            n if n % 100_000 == 0 => 60_000_000_000,
            _ => 1_000,
        };
        s.observe(n, Some(time_ns));
    }
    assert_eq!((s.counts.lost, s.counts.restarts), (0, 0));
}

/// One numbered datagram on its way.
#[derive(Clone, Debug)]
struct Fate {
    lost: bool,
    duplicated: bool,
    /// Number of positions by which it is delayed.
    delay: usize,
    duplicate_delay: usize,
}

fn fate() -> impl Strategy<Value = Fate> {
    (
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.05),
        prop_oneof![4 => Just(0usize), 1 => 1usize..40],
        0usize..40,
    )
        .prop_map(|(lost, duplicated, delay, duplicate_delay)| Fate {
            lost,
            duplicated,
            delay,
            duplicate_delay,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn agrees_with_a_model_that_remembers_everything(
        bits in prop_oneof![Just(22u8), Just(32u8)],
        before_wrap in 0u32..600,
        fates in prop::collection::vec(fate(), 1..600),
    ) {
        let mask = if bits == 32 { u32::MAX } else { (1 << bits) - 1 };
        let first = mask - before_wrap;
        // (arrival, true index) in order of arrival.
        let mut arrivals = Vec::new();
        for (index, fate) in fates.iter().enumerate() {
            if !fate.lost {
                arrivals.push((index + fate.delay, index));
                if fate.duplicated {
                    arrivals.push((index + fate.delay + fate.duplicate_delay, index));
                }
            }
        }
        arrivals.sort_by_key(|&(at, _)| at);

        let mut s = stream(bits);
        let mut known = HashSet::new();
        let mut expected = Counts::default();
        let mut start = None;
        let mut highest = 0;
        for &(_, index) in &arrivals {
            s.observe(first.wrapping_add(index as u32) & mask, None);
            expected.received += 1;
            if !known.insert(index) {
                expected.duplicate += 1;
            } else if start.is_none() {
                start = Some(index);
                highest = index;
            } else if index > highest {
                highest = index;
            } else {
                expected.late += 1;
            }
        }
        if let Some(start) = start {
            expected.lost = (start..=highest).filter(|index| !known.contains(index)).count() as u64;
        }
        prop_assert_eq!(s.counts, expected);
    }

    #[test]
    fn no_input_breaks_it(
        bits in any::<u8>(),
        window in any::<u32>(),
        input in prop::collection::vec((any::<u32>(), prop::option::of(any::<u64>())), 0..300),
    ) {
        let mut s = Stream::new(bits, &StreamConfig { window: window % 100_000, ..StreamConfig::default() });
        for (sequence, time_ns) in &input {
            s.observe(*sequence, *time_ns);
        }
        prop_assert_eq!(s.counts.received, input.len() as u64);
    }
}

/// The place where numbers wrap makes no difference: first numbers of 8 bits with every two numbers
/// after them; then the limits of 22 and 32 bits.
#[test]
fn what_is_counted_does_not_depend_on_where_numbers_wrap() {
    let config = StreamConfig {
        window: 64,
        ..StreamConfig::default()
    };
    let outcomes = |bits: u8, numbers: [u32; 3]| {
        let mut s = Stream::new(bits, &config);
        let outcomes = numbers.map(|n| s.observe(n, None));
        (outcomes, s.counts)
    };
    for second in 0..256u32 {
        for third in 0..256u32 {
            let expected = outcomes(8, [0, second, third]);
            for first in [1, 63, 64, 127, 128, 191, 192, 200, 255] {
                let numbers = [first, first + second, first + third];
                assert_eq!(outcomes(8, numbers), expected, "{numbers:?}");
            }
        }
    }
    // A restart begins with low numbers: far from there.
    let steps = [
        1, 2, 31, 32, 33, 63, 64, 65, 8_191, 8_192, 8_193, 65_535, 65_537,
    ];
    let steps = || steps.iter().flat_map(|&s| [s, 0u32.wrapping_sub(s)]);
    for bits in [22u8, 32] {
        let mask = u32::MAX >> (32 - bits);
        let half = 1u32 << (bits - 1);
        for second in steps() {
            for third in steps() {
                let numbers =
                    |first: u32| [first, first.wrapping_add(second), first.wrapping_add(third)];
                let expected = outcomes(bits, numbers(half / 2));
                for first in [half - 1, half, half + 1, half + half / 2] {
                    assert_eq!(outcomes(bits, numbers(first)), expected, "{bits} {first:x}");
                }
                // Bits beyond the number's are ignored.
                let beyond = numbers(half / 2).map(|n| n | !mask);
                if bits < 32 {
                    assert_eq!(outcomes(bits, beyond), expected);
                }
            }
        }
    }
}

#[test]
fn a_number_that_never_changes_is_none() {
    let mut s = stream(32);
    assert_eq!(s.observe(7, Some(100)), Outcome::First);
    assert_eq!(s.observe(7, Some(100)), Outcome::Duplicate);
    for time_ns in [110, 120, 120, 130] {
        assert_eq!(s.observe(7, Some(time_ns)), UNNUMBERED);
    }
    let counts = s.counts;
    assert_eq!(
        (counts.unnumbered, counts.duplicate, counts.lost),
        (4, 1, 0)
    );
    // Without a time, it shows because it is the only number.
    let mut s = stream(32);
    let outcomes: Vec<_> = (0..11).map(|_| s.observe(0, None)).collect();
    assert_eq!(outcomes[8..], [Outcome::Duplicate, UNNUMBERED, UNNUMBERED]);
    // If the sender numbers, its last datagram may come again.
    let mut s = stream(32);
    for n in 0..10 {
        s.observe(n, Some(u64::from(n) * 10));
    }
    assert_eq!(s.observe(9, Some(90)), Outcome::Duplicate);
    assert_eq!(s.observe(10, Some(100)), Outcome::InOrder);
}

proptest! {
    /// Two senders in one stream: one numbers and loses some, the other always has the same number.
    #[test]
    fn what_is_not_numbered_takes_nothing_from_what_is(
        first in 0u32..40_000,
        constant in 0u32..80_000,
        bits in prop_oneof![Just(22u8), Just(32)],
        parts in prop::collection::vec((0u8..4, 1u32..4), 40..400),
        timed in any::<bool>(),
    ) {
        let mut s = Stream::new(bits, &StreamConfig::default());
        let (mut next, mut time_ns) = (first, 1_000);
        let (mut range, mut seen) = (None, 0u64);
        let (mut constants, mut kept) = (0u64, 0u64);
        for (kind, step) in parts {
            time_ns += 1_000;
            let time = timed.then_some(time_ns);
            if kind == 0 {
                constants += 1;
                kept += u64::from(s.observe(constant, time) != Outcome::Duplicate);
            } else {
                // One in four numbers or so is lost.
                next += if kind == 1 { step } else { 1 };
                s.observe(next, time);
                range = Some((range.map_or(next, |(from, _)| from), next));
                seen += 1;
            }
        }
        let lost = range.map_or(0, |(from, to)| u64::from(to - from) + 1 - seen);
        // Numbers near the constant may be mistaken for it, until it shows. Without a clock it
        // shows late, and nothing is counted from then on.
        let is_far = range.is_none_or(|(from, to)| constant + 16_384 < from || to + 16_384 < constant);
        let is_sure = timed || s.counts.unnumbered > 0;
        let most = if timed { lost + 2 } else { lost };
        prop_assert!(!is_sure || s.counts.lost <= most, "{:?}, lost {lost}", s.counts);
        // Losses before the second datagram of both are unknown.
        let is_exact = (lost.saturating_sub(2)..=lost).contains(&s.counts.lost);
        prop_assert!(!timed || !is_far || is_exact, "{:?}, lost {lost}", s.counts);
        let doubled = constants - kept;
        prop_assert!(!timed || doubled <= 4, "{:?}: {doubled} of {constants}", s.counts);
    }
}
