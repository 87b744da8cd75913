// SPDX-License-Identifier: Apache-2.0
//! A histogram that is quick to count into: a small open hash table of
//! buckets, sorted only when it is handed on.

use tidemark_proto::histogram::bucket_of;
use tidemark_proto::telemetry::Histogram;

const LEAST: usize = 32;

/// Bucket number (plus one; 0 is free) to count.
#[derive(Debug, Default)]
pub struct Buckets {
    slots: Vec<(u32, u32)>,
    used: usize,
}

impl Buckets {
    #[inline]
    pub fn record(&mut self, value: u64) {
        let key = bucket_of(value) + 1;
        if self.slots.len() < 2 * (self.used + 1) {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut at = place(key) & mask;
        loop {
            let Some(slot) = self.slots.get_mut(at) else {
                return;
            };
            if slot.0 == key {
                slot.1 = slot.1.saturating_add(1);
                return;
            }
            if slot.0 == 0 {
                *slot = (key, 1);
                self.used += 1;
                return;
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let length = (self.slots.len() * 2).max(LEAST);
        let old = std::mem::replace(&mut self.slots, vec![(0, 0); length]);
        let mask = length - 1;
        for (key, count) in old.into_iter().filter(|s| s.0 != 0) {
            let mut at = place(key) & mask;
            while self.slots[at].0 != 0 {
                at = (at + 1) & mask;
            }
            self.slots[at] = (key, count);
        }
    }

    /// The wire form, `None` when empty; empties the histogram and keeps its
    /// memory.
    pub fn take(&mut self) -> Option<Histogram> {
        if self.used == 0 {
            return None;
        }
        let mut counts: Vec<(u32, u32)> = self.slots.iter().copied().filter(|s| s.0 != 0).collect();
        counts.sort_unstable();
        self.slots.fill((0, 0));
        self.used = 0;
        Some(Histogram {
            bucket: counts.iter().map(|c| c.0 - 1).collect(),
            count: counts.iter().map(|c| c.1).collect(),
        })
    }
}

#[inline]
fn place(key: u32) -> usize {
    (key.wrapping_mul(0x9e37_79b1) >> 12) as usize
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
            let (mut quick, mut plain) = (Buckets::default(), Counts::new());
            for round in 0..2 {
                for &v in &values {
                    quick.record(v >> round);
                    plain.record(v >> round);
                }
                let expected = (!plain.is_empty()).then(|| plain.take());
                prop_assert_eq!(quick.take(), expected);
            }
        }
    }
}
