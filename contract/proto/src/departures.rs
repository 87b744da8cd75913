// SPDX-License-Identifier: Apache-2.0
//! Departures per tenth of an interval, packed into one number of a record.

/// Number of parts of an interval.
pub const TENTHS: usize = 10;

const BITS: u32 = 6;
const MOST: u64 = (1 << BITS) - 1;
const SHIFT_AT: u32 = BITS * TENTHS as u32;

/// Packs counts for `FlowInterval.departures`: exact up to 63, else to within 1/32 of the largest.
pub fn pack(counts: [u16; TENTHS]) -> u64 {
    let most = u64::from(counts.into_iter().max().unwrap_or(0));
    let mut shift = 0;
    // Counts are rounded, and the largest must still fit after rounding.
    while (most + half(shift)) >> shift > MOST {
        shift += 1;
    }
    let counts = counts.into_iter().enumerate();
    counts.fold(u64::from(shift) << SHIFT_AT, |packed, (i, count)| {
        packed | ((u64::from(count) + half(shift)) >> shift) << (BITS * i as u32)
    })
}

/// Unpacks the counts of `FlowInterval.departures`.
pub fn unpack(packed: u64) -> [u32; TENTHS] {
    let shift = packed >> SHIFT_AT;
    std::array::from_fn(|i| ((packed >> (BITS * i as u32) & MOST) << shift) as u32)
}

/// Returns the number of tenths with a departure in `FlowInterval.departures`.
pub fn occupied(packed: u64) -> usize {
    // Sets the lowest bit of each count if any of its bits is set.
    const LOWEST: u64 = ((1 << SHIFT_AT) - 1) / MOST;
    let by_three = packed | packed >> 1 | packed >> 2;
    ((by_three | by_three >> 3) & LOWEST).count_ones() as usize
}

fn half(shift: u32) -> u64 {
    (1 << shift) >> 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_are_exact_and_many_nearly_so() {
        let few = [0, 1, 63, 5, 0, 0, 62, 7, 9, 63];
        assert_eq!(unpack(pack(few)), few.map(u32::from));
        for most in [64, 126, 127, 255, 1000, 4064, 4095, u16::MAX] {
            let counts = [most, 0, most / 2, most / 3, most, most, 1, 0, 0, most];
            for (counted, told) in counts.map(f64::from).into_iter().zip(unpack(pack(counts))) {
                let off = (f64::from(told) - counted).abs();
                assert!(
                    off <= f64::from(most) / 62.0,
                    "{told} for {counted} of {most}"
                );
            }
        }
        assert_eq!(pack([0; TENTHS]), 0);
        for counts in [few, few.map(|n| n / 9), [0; TENTHS], [64; TENTHS]] {
            let some = counts.iter().filter(|&&n| n > 0).count();
            assert_eq!(occupied(pack(counts)), some, "{counts:?}");
        }
        assert_eq!(unpack(u64::MAX), [63 << 15; TENTHS]);
    }
}
