//! Logarithmic buckets shared by collector and controller.
//!
//! Values below 128 have a bucket each; above, every power of two is cut into
//! 64 equal buckets, so a value is known to within 1/64 of itself.

use crate::telemetry::Histogram;
use std::collections::BTreeMap;

const LINEAR: u64 = 128;
const SUB_BITS: u32 = 6;

/// Bucket number of a value.
#[inline]
pub fn bucket_of(value: u64) -> u32 {
    // What is left of a value from 128 on, cut to its first seven bits, lies in
    // 64..128; every bit cut makes a run of 64 buckets.
    let shift = (63 - SUB_BITS).saturating_sub((value | 1).leading_zeros());
    (shift << SUB_BITS) + (value >> shift) as u32
}

/// Smallest value of a bucket and the number of values in it.
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

/// A mutable histogram: bucket number to count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    counts: BTreeMap<u32, u64>,
    total: u64,
}

impl Counts {
    /// Counts of nothing.
    pub fn new() -> Self {
        Self::default()
    }
    /// Counts a value.
    pub fn record(&mut self, value: u64) {
        *self.counts.entry(bucket_of(value)).or_default() += 1;
        self.total += 1;
    }

    /// Adds a histogram off the wire; unequal columns are cut to the shorter.
    pub fn merge(&mut self, h: &Histogram) {
        for (&b, &c) in h.bucket.iter().zip(&h.count) {
            *self.counts.entry(b).or_default() += u64::from(c);
            self.total += u64::from(c);
        }
    }
    /// Number of values counted.
    pub fn total(&self) -> u64 {
        self.total
    }
    /// Whether no value was counted.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Value at quantile `q` in 0..=1 (nearest rank, linear within a bucket);
    /// `None` when empty.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        if self.total == 0 {
            return None;
        }
        let rank = (q.clamp(0.0, 1.0) * (self.total - 1) as f64).round() as u64;
        let mut before = 0;
        for (&bucket, &count) in &self.counts {
            if rank < before + count {
                let (low, width) = bucket_range(bucket);
                let inside = (rank - before) as f64 + 0.5;
                return Some(low as f64 + (width - 1) as f64 * inside / count as f64);
            }
            before += count;
        }
        None
    }

    /// Bucket numbers and counts, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.counts.iter().map(|(&b, &c)| (b, c))
    }

    /// The wire form; empties the histogram. Counts above `u32::MAX` are held
    /// at `u32::MAX`.
    pub fn take(&mut self) -> Histogram {
        self.total = 0;
        let counts = std::mem::take(&mut self.counts);
        Histogram {
            bucket: counts.keys().copied().collect(),
            count: counts
                .values()
                .map(|&c| u32::try_from(c).unwrap_or(u32::MAX))
                .collect(),
        }
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

    proptest! {
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
