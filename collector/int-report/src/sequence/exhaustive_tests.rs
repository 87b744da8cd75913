// SPDX-License-Identifier: Apache-2.0
//! Compares numbers that wrap with integers that do not: every pair of 8 bits, the limits of 22 and
//! 32 bits, and every order in which a few datagrams arrive.
use super::counts::{Counts, Outcome};
use super::stream::{Stream, StreamConfig};

const WINDOW: u32 = 64;

fn stream(bits: u8) -> Stream {
    let config = StreamConfig {
        window: WINDOW,
        ..StreamConfig::default()
    };
    Stream::new(bits, &config)
}

/// Expected outcome of the second of two numbers, without a clock: by its signed distance from the
/// first, of at most half the range.
fn expected(bits: u8, first: u32, second: u32) -> Outcome {
    let range = 1i64 << bits;
    let mut distance = i64::from(second) - i64::from(first);
    if distance < -range / 2 {
        distance += range;
    } else if distance >= range / 2 {
        distance -= range;
    }
    let window = i64::from(WINDOW);
    match distance {
        0 => Outcome::Duplicate,
        1 => Outcome::InOrder,
        d if d > 1 && d <= window / 2 => Outcome::Gap { lost: d as u32 - 1 },
        d if d < 0 && -d < window => Outcome::Late,
        // Only low numbers may begin a new count.
        d if d < 0 && -d < range / 2 && second >= 1_024 => Outcome::Stale,
        d if -d == range / 2 && second >= 1_024 => Outcome::Stale,
        _ => Outcome::Implausible,
    }
}

fn holds(bits: u8, first: u32, second: u32) {
    let mut s = stream(bits);
    assert_eq!(s.observe(first, None), Outcome::First);
    let outcome = s.observe(second, None);
    assert_eq!(
        outcome,
        expected(bits, first, second),
        "{bits}: {first} {second}"
    );
    let lost = match outcome {
        Outcome::Gap { lost } => u64::from(lost),
        _ => 0,
    };
    assert_eq!((s.counts.received, s.counts.lost), (2, lost));
}

#[test]
fn every_pair_of_8_bits() {
    for first in 0..=255 {
        for second in 0..=255 {
            holds(8, first, second);
        }
    }
}

/// Returns numbers around every place where a comparison could go wrong.
fn borders(bits: u8) -> Vec<u32> {
    let mask = u32::MAX >> (32 - bits);
    let half = 1u32 << (bits - 1);
    let places = [
        0,
        WINDOW / 2,
        WINDOW,
        1_024,
        half / 2,
        half,
        half + WINDOW,
        half + half / 2,
    ];
    let around = |p: u32| (0..7).map(move |n| p.wrapping_add(n).wrapping_sub(3) & mask);
    let mut all: Vec<u32> = places.into_iter().flat_map(around).collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[test]
fn every_pair_of_borders_of_22_and_32_bits() {
    for bits in [22, 32] {
        let borders = borders(bits);
        let mask = u32::MAX >> (32 - bits);
        for &first in &borders {
            for &second in &borders {
                holds(bits, first, second);
                // A pair at the same distance, across the wrap.
                holds(bits, mask, second.wrapping_sub(first) & mask);
            }
        }
    }
}

/// Five datagrams, each with any of 31 neighbouring numbers: the numbers between the first and the
/// highest that did not come are lost, whatever came late, twice or before the first.
#[test]
fn every_order_of_five_datagrams() {
    const REACH: i32 = 15;
    let width = (2 * REACH + 1) as u32;
    for (bits, first) in [(8u8, 250u32), (22, 0x3f_fffb), (32, 7)] {
        let mask = u32::MAX >> (32 - bits);
        for order in 0..width.pow(4) {
            let mut s = stream(bits);
            s.observe(first, None);
            let mut seen = 1u32 << REACH;
            let (mut highest, mut rest) = (0, order);
            let mut counts = Counts {
                received: 5,
                ..Counts::default()
            };
            for _ in 0..4 {
                let place = (rest % width) as i32 - REACH;
                rest /= width;
                s.observe(first.wrapping_add_signed(place) & mask, None);
                let bit = 1u32 << (place + REACH);
                if seen & bit != 0 {
                    counts.duplicate += 1;
                } else if place > highest {
                    highest = place;
                } else {
                    counts.late += 1;
                }
                seen |= bit;
            }
            let missing = (0..=highest).filter(|p| seen & 1 << (p + REACH) == 0);
            counts.lost = missing.count() as u64;
            assert_eq!(s.counts, counts, "{bits} bits, order {order}");
        }
    }
}
