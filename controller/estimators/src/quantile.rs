// SPDX-License-Identifier: Apache-2.0
//! Quantiles of unsorted values. Quantiles of whole histories are computed often, and sorting all
//! values would cost several times as much.

/// Returns a quantile of the finite values, linear between ranks; `None` if there are none.
pub(crate) fn quantile(values: &[f64], q: f64) -> Option<f64> {
    if let Some(buckets) = Buckets::of(values) {
        let (position, rank) = place(values.len(), q)?;
        let (smaller, near) = buckets.near(values, rank);
        return between(near, rank.checked_sub(smaller)?, position - rank as f64);
    }
    let finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    let (position, rank) = place(finite.len(), q)?;
    between(finite, rank, position - rank as f64)
}

/// Returns the fractional rank of a quantile among `len` sorted values, and its whole part.
fn place(len: usize, q: f64) -> Option<(f64, usize)> {
    let position = q.clamp(0.0, 1.0) * len.checked_sub(1)? as f64;
    Some((position, position.floor() as usize))
}

/// Interpolates between the value of a rank and the next value, if there is one.
fn between(mut values: Vec<f64>, rank: usize, part: f64) -> Option<f64> {
    if rank >= values.len() {
        return None;
    }
    let (_, &mut low, above) = values.select_nth_unstable_by(rank, f64::total_cmp);
    let high = above.iter().copied().min_by(f64::total_cmp).unwrap_or(low);
    Some(low + (high - low) * part)
}

/// Least number of values to be sorted into buckets.
const MANY: usize = 64;
/// Number of buckets: an index fits one byte.
const BUCKETS: usize = 1 << u8::BITS;
/// Rounds a small number that it is added to: the lowest bits are then the nearest integer.
const WHOLE: f64 = (1u64 << 52) as f64;
/// Number of values checked at a time: most such chunks have no value near the rank.
const TOGETHER: usize = 16;

/// Buckets of equal width from the smallest to the largest of many finite values.
struct Buckets {
    least: f64,
    per_unit: f64,
}

impl Buckets {
    /// Returns `None` for few or non-finite values, or if the buckets would have no width.
    fn of(values: &[f64]) -> Option<Self> {
        let none = (f64::INFINITY, f64::NEG_INFINITY, true);
        let (least, largest, finite) = values.iter().fold(none, |(least, largest, finite), &v| {
            let least = if v < least { v } else { least };
            let largest = if v > largest { v } else { largest };
            (least, largest, finite & v.is_finite())
        });
        let per_unit = (BUCKETS - 1) as f64 / (largest - least);
        (values.len() >= MANY && finite && per_unit.is_normal()).then_some(Self { least, per_unit })
    }

    /// Returns the bucket of a value: never a smaller one for a larger value.
    fn bucket(&self, value: f64) -> u8 {
        ((value - self.least) * self.per_unit + WHOLE).to_bits() as u8
    }

    /// Returns the values in the buckets of `rank` and the next, preceded by how many are smaller.
    fn near(&self, values: &[f64], rank: usize) -> (usize, Vec<f64>) {
        let of_each: Vec<u8> = values.iter().map(|&v| self.bucket(v)).collect();
        let mut counts = [0u32; BUCKETS];
        for &bucket in &of_each {
            if let Some(count) = counts.get_mut(usize::from(bucket)) {
                *count += 1;
            }
        }
        let (mut below, mut smaller, mut first, mut last) = (0, 0, 0, u8::MAX);
        for (bucket, &count) in (0..=u8::MAX).zip(&counts).filter(|(_, count)| **count > 0) {
            if below <= rank {
                (first, smaller) = (bucket, below);
            }
            below += count as usize;
            if below > rank + 1 {
                last = bucket;
                break;
            }
        }
        let is_near = |bucket: u8| bucket.wrapping_sub(first) <= last - first;
        let mut near = Vec::with_capacity(below - smaller);
        for (buckets, values) in of_each.chunks(TOGETHER).zip(values.chunks(TOGETHER)) {
            if buckets.iter().fold(false, |any, &b| any | is_near(b)) {
                let both = buckets.iter().zip(values);
                near.extend(both.filter(|(b, _)| is_near(**b)).map(|(_, v)| *v));
            }
        }
        (smaller, near)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The reference: sorts all values.
    fn quantile_sorted(values: &[f64], q: f64) -> Option<f64> {
        let mut sorted = values.to_vec();
        sorted.retain(|v| v.is_finite());
        sorted.sort_unstable_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        let position = q.clamp(0.0, 1.0) * last as f64;
        let below = position.floor() as usize;
        let low = *sorted.get(below)?;
        let high = *sorted.get((below + 1).min(last))?;
        Some(low + (high - low) * (position - below as f64))
    }

    proptest! {
        /// Many values may be equal, the values may be sorted, and every `period`th may be far
        /// larger or NaN.
        #[test]
        fn is_that_of_sorted_values_bit_by_bit(
            len in 0..1000usize,
            different in 1..2000i32,
            finite in prop::bool::weighted(0.8),
            sorted in any::<bool>(),
            period in 1..60usize,
            seed in prop::collection::vec(any::<i16>(), 1000),
        ) {
            let mut values: Vec<f64> = seed
                .iter()
                .take(len)
                .map(|&v| f64::from(i32::from(v) % different) / 7.0 * if v % 3 == 0 { -1.0 } else { 1.0 })
                .collect();
            if sorted {
                values.sort_unstable_by(f64::total_cmp);
            }
            for (i, v) in values.iter_mut().enumerate() {
                if i % period == 0 {
                    *v = if finite { 1e6 } else { f64::NAN };
                }
            }
            for q in [0.0, 0.01, 0.1, 0.25, 0.35, 0.5, 0.9, 0.99, 1.0] {
                let bits = |v: Option<f64>| v.map(f64::to_bits);
                prop_assert_eq!(
                    bits(quantile(&values, q)),
                    bits(quantile_sorted(&values, q)),
                    "{} values, quantile {}", values.len(), q
                );
            }
        }
    }
}
