// SPDX-License-Identifier: Apache-2.0
//! A histogram that is cheap to update: it holds the counts of all buckets from the lowest to the
//! highest seen, which are few (64 buckets per factor of two).

use tidemark_proto::histogram::bucket_of;
use tidemark_proto::telemetry::Histogram;

/// Number of buckets added at once beyond the one that is needed.
const SPARE: u32 = 16;

/// Counts of consecutive buckets.
#[derive(Debug, Default)]
pub(super) struct Buckets {
    counts: Vec<u32>,
    /// Bucket of the first count.
    first: u32,
}

impl Buckets {
    pub(super) fn memory_bytes(&self) -> usize {
        self.counts.capacity() * size_of::<u32>()
    }

    #[inline]
    pub(super) fn record(&mut self, value: u64, times: u32) {
        let bucket = bucket_of(value);
        if let Some(count) = self
            .counts
            .get_mut(bucket.wrapping_sub(self.first) as usize)
        {
            *count = count.saturating_add(times);
        } else {
            self.record_beyond(bucket, times);
        }
    }

    #[cold]
    #[inline(never)]
    fn record_beyond(&mut self, bucket: u32, times: u32) {
        if self.counts.is_empty() {
            self.first = bucket.saturating_sub(SPARE);
        } else if bucket < self.first {
            let first = bucket.saturating_sub(SPARE);
            let more = (self.first - first) as usize;
            self.counts.splice(..0, std::iter::repeat_n(0, more));
            self.first = first;
        }
        let at = (bucket - self.first) as usize;
        if at >= self.counts.len() {
            self.counts.resize(at + 1 + SPARE as usize, 0);
        }
        if let Some(count) = self.counts.get_mut(at) {
            *count = count.saturating_add(times);
        }
    }

    /// Multiplies all counts.
    pub(super) fn multiply(&mut self, times: u32) {
        for count in &mut self.counts {
            *count = count.saturating_mul(times);
        }
    }

    /// Returns the wire form, or `None` if empty; clears the histogram and keeps its memory.
    pub(super) fn take(&mut self) -> Option<Histogram> {
        let mut histogram = Histogram::default();
        for (bucket, count) in (self.first..).zip(&mut self.counts) {
            if *count > 0 {
                histogram.bucket.push(bucket);
                histogram.count.push(std::mem::take(count));
            }
        }
        (!histogram.bucket.is_empty()).then_some(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tidemark_proto::histogram::Counts;

    proptest! {
        #[test]
        fn agrees_with_the_plain_histogram(
            values in prop::collection::vec(prop_oneof![0u64..200, any::<u64>()], 0..500),
        ) {
            let (mut buckets, mut plain) = (Buckets::default(), Counts::new());
            for round in 0..2 {
                for &v in &values {
                    buckets.record(v >> round, 1);
                    plain.record(v >> round);
                }
                let expected = (!plain.is_empty()).then(|| plain.take());
                prop_assert_eq!(buckets.take(), expected);
            }
        }
    }
}
