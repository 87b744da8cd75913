// SPDX-License-Identifier: Apache-2.0
//! Logarithmic buckets shared by collector and controller.
//!
//! Values below 128 have a bucket each; above, every power of two is divided into
//! 64 equal buckets, so a value is known to within 1/64 of itself.

use crate::telemetry::Histogram;

const LINEAR: u64 = 128;
const SUB_BITS: u32 = 6;

/// Returns the bucket number of a value.
#[inline]
pub fn bucket_of(value: u64) -> u32 {
    // A value of at least 128, shifted right to its top seven bits, lies in 64..128; each bit
    // shifted out adds 64 buckets.
    let shift = (63 - SUB_BITS).saturating_sub((value | 1).leading_zeros());
    (shift << SUB_BITS) + (value >> shift) as u32
}

/// Returns the smallest value of a bucket and the number of values in it.
pub fn bucket_range(bucket: u32) -> (u64, u64) {
    if u64::from(bucket) < LINEAR {
        return (u64::from(bucket), 1);
    }
    let b = bucket - LINEAR as u32;
    let exponent = (b >> SUB_BITS) + 7;
    let sub = u64::from(b & ((1 << SUB_BITS) - 1));
    let width = 1u64 << (exponent - SUB_BITS);
    ((1u64 << exponent) + sub * width, width)
}

/// Bucket of the largest value.
const LAST: u32 = ((63 - SUB_BITS) << SUB_BITS) + LINEAR as u32 - 1;

/// A mutable histogram. At most 30 KiB: there are 3776 buckets.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Number of the first bucket in `counts`.
    first: u32,
    counts: Vec<u64>,
    total: u64,
}

impl PartialEq for Counts {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Counts {}

impl Counts {
    /// Creates an empty histogram.
    pub fn new() -> Self {
        Self::default()
    }
    /// Counts a value.
    pub fn record(&mut self, value: u64) {
        self.add(bucket_of(value), 1);
    }

    #[inline]
    fn add(&mut self, bucket: u32, count: u64) {
        let at = bucket.wrapping_sub(self.first) as usize;
        if at >= self.counts.len() {
            self.enlarge(bucket);
        }
        let at = bucket.wrapping_sub(self.first) as usize;
        if let Some(sum) = self.counts.get_mut(at) {
            *sum += count;
            self.total += count;
        }
    }

    /// Extends `counts` to include a bucket.
    #[cold]
    fn enlarge(&mut self, bucket: u32) {
        if self.counts.is_empty() {
            self.first = bucket;
        } else if bucket < self.first {
            let more = (self.first - bucket) as usize;
            self.counts.splice(..0, std::iter::repeat_n(0, more));
            self.first = bucket;
        }
        let length = (bucket - self.first) as usize + 1;
        if length > self.counts.len() {
            self.counts.resize(length, 0);
        }
    }

    /// Adds a histogram from the wire. Unequal columns are cut to the shorter one, and
    /// buckets beyond the last count as the last.
    pub fn merge(&mut self, h: &Histogram) {
        for (&bucket, &count) in h.bucket.iter().zip(&h.count) {
            self.add(bucket.min(LAST), u64::from(count));
        }
    }

    /// Returns the number of values counted.
    pub fn total(&self) -> u64 {
        self.total
    }
    /// Returns whether no value was counted.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Returns the value at quantile `q` in 0..=1 (nearest rank, linear within a bucket);
    /// `None` if empty.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        if self.total == 0 {
            return None;
        }
        let rank = (q.clamp(0.0, 1.0) * (self.total - 1) as f64).round() as u64;
        let mut before = 0;
        for (bucket, count) in self.iter() {
            if rank < before + count {
                let (low, width) = bucket_range(bucket);
                let inside = (rank - before) as f64 + 0.5;
                return Some(low as f64 + (width - 1) as f64 * inside / count as f64);
            }
            before += count;
        }
        None
    }

    /// Iterates over bucket numbers and counts, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let all = (self.first..).zip(self.counts.iter().copied());
        all.filter(|&(_, count)| count > 0)
    }

    /// Returns the wire form and empties the histogram. Counts above `u32::MAX` become
    /// `u32::MAX`.
    pub fn take(&mut self) -> Histogram {
        let taken = std::mem::take(self);
        let mut histogram = Histogram::default();
        for (bucket, count) in taken.iter() {
            histogram.bucket.push(bucket);
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            histogram.count.push(count);
        }
        histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_values_are_exact() {
        let mut c = Counts::new();
        for v in [0, 3, 3, 127] {
            c.record(v);
        }
        assert_eq!(c.quantile(0.5), Some(3.0));
        assert_eq!(c.quantile(1.0), Some(127.0));
        assert_eq!(c.total(), 4);
    }

    #[test]
    fn what_is_made_up_counts_in_the_last_bucket() {
        assert_eq!(LAST, bucket_of(u64::MAX));
        let mut c = Counts::new();
        c.merge(&Histogram {
            bucket: vec![u32::MAX, LAST, 3],
            count: vec![1, 2, 4, 8],
        });
        assert_eq!(c.iter().collect::<Vec<_>>(), [(3, 4), (LAST, 3)]);
        assert!(c.quantile(1.0).unwrap() > 1.8e19);
    }

    proptest! {
        /// Compares with a map, for any order of values.
        #[test]
        fn counts_agree_with_a_map(values in prop::collection::vec(any::<u64>(), 0..200)) {
            let (mut c, mut map) = (Counts::new(), std::collections::BTreeMap::new());
            for &v in &values {
                c.record(v);
                *map.entry(bucket_of(v)).or_insert(0u64) += 1;
            }
            prop_assert_eq!(c.total() as usize, values.len());
            prop_assert_eq!(c.iter().collect::<Vec<_>>(), map.into_iter().collect::<Vec<_>>());
        }

        #[test]
        fn value_lies_in_its_bucket(v in any::<u64>()) {
            let (low, width) = bucket_range(bucket_of(v));
            prop_assert!(low <= v && v - low < width);
            prop_assert!(width == 1 || (width as f64) <= low as f64 / 64.0);
        }

        #[test]
        fn buckets_have_no_gap(b in 0u32..bucket_of(u64::MAX)) {
            let (low, width) = bucket_range(b);
            prop_assert_eq!((bucket_of(low), bucket_of(low + width)), (b, b + 1));
        }

        #[test]
        fn buckets_are_ordered(a in any::<u64>(), b in any::<u64>()) {
            prop_assert!(bucket_of(a.min(b)) <= bucket_of(a.max(b)));
        }

        #[test]
        fn wire_form_keeps_everything(values in prop::collection::vec(0u64..1 << 40, 0..200)) {
            let mut a = Counts::new();
            values.iter().for_each(|&v| a.record(v));
            let kept = a.clone();
            let mut b = Counts::new();
            b.merge(&a.take());
            prop_assert_eq!(b, kept);
            prop_assert!(a.is_empty());
        }
    }
}
