// SPDX-License-Identifier: Apache-2.0
//! A queue whose entries are found by a position that never changes: the first entry added has
//! position 0, the next 1, and so on.
//!
//! The number of places is a power of two, so that a mask turns a position into a place. The memory
//! grows as needed and is kept. The plain form is a `VecDeque` and a count of removed entries; the
//! property test `agrees_with_a_list` below checks that the two agree. Justified by the benchmark
//! row "decode, flow, join, intervals; 1000 flows" of `make bench-collector`.

use crate::prefetch;

const LEAST: usize = 4;

/// A queue with stable positions.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    places: Box<[T]>,
    first: u64,
    next: u64,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self {
            places: Box::default(),
            first: 0,
            next: 0,
        }
    }
}

impl<T: Copy + Default> Ring<T> {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        (self.next - self.first) as usize
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.next == self.first
    }

    /// Whether the next entry needs more memory.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.len() == self.places.len()
    }

    /// Position of the oldest entry; of the next entry if there is none.
    #[inline]
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// Position that the next entry will have.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    #[inline]
    fn place(&self, position: u64) -> usize {
        position as usize & self.places.len().wrapping_sub(1)
    }

    #[inline]
    fn has(&self, position: u64) -> bool {
        // A position below `first` wraps to a huge number.
        position.wrapping_sub(self.first) < self.next - self.first
    }

    #[inline]
    pub(crate) fn push_back(&mut self, entry: T) {
        if self.is_full() {
            self.grow();
        }
        let place = self.place(self.next);
        if let Some(place) = self.places.get_mut(place) {
            *place = entry;
        }
        self.next += 1;
    }

    /// Memory taken, bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val::<[T]>(&self.places)
    }

    /// Doubles the number of places.
    #[cold]
    #[inline(never)]
    pub(crate) fn grow(&mut self) {
        let length = (self.places.len() * 2).max(LEAST);
        let mut places = vec![T::default(); length].into_boxed_slice();
        for position in self.first..self.next {
            let from = self.place(position);
            if let (Some(to), Some(from)) = (
                places.get_mut(position as usize & (length - 1)),
                self.places.get(from),
            ) {
                *to = *from;
            }
        }
        self.places = places;
    }

    #[inline]
    pub(crate) fn get(&self, position: u64) -> Option<&T> {
        if !self.has(position) {
            return None;
        }
        self.places.get(self.place(position))
    }

    #[inline]
    pub(crate) fn front(&self) -> Option<&T> {
        if self.is_empty() {
            return None;
        }
        self.places.get(self.place(self.first))
    }

    #[inline]
    pub(crate) fn back(&self) -> Option<&T> {
        if self.is_empty() {
            return None;
        }
        self.places.get(self.place(self.next.wrapping_sub(1)))
    }

    /// Prefetches an entry and the two after it.
    #[inline]
    pub(crate) fn prefetch(&self, position: u64) {
        if let Some(first) = self.places.get(self.place(position)) {
            prefetch::start(first);
            prefetch::line(
                std::ptr::from_ref(first)
                    .cast::<u8>()
                    .wrapping_add(3 * size_of::<T>() - 1),
            );
        }
    }

    /// Removes the oldest entry.
    #[inline]
    pub(crate) fn pop_front(&mut self) {
        if !self.is_empty() {
            self.first += 1;
        }
    }

    pub(crate) fn clear(&mut self) {
        self.first = self.next;
    }

    /// Adds an entry before the entries that belong `after` it; mostly there are none.
    #[inline]
    pub(crate) fn push_in_order(&mut self, entry: T, after: impl Fn(&T, &T) -> bool) {
        let disorder = self.back().is_some_and(|back| after(back, &entry));
        self.push_back(entry);
        if disorder {
            self.settle(after);
        }
    }

    #[cold]
    fn settle(&mut self, after: impl Fn(&T, &T) -> bool) {
        let mut i = self.next - 1;
        while i > self.first
            && let (Some(a), Some(b)) = (self.get(i - 1), self.get(i))
            && after(a, b)
        {
            let (at, before) = (self.place(i), self.place(i - 1));
            self.places.swap(at, before);
            i -= 1;
        }
    }

    /// Returns the position of the first entry for which `is` does not hold; of the next entry if
    /// it holds for all. Entries for which it holds must come first.
    #[inline]
    pub(crate) fn partition_point(&self, mut is: impl FnMut(&T) -> bool) -> u64 {
        let (mut low, mut high) = (self.first, self.next);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle).is_some_and(&mut is) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    impl<T: Copy + Default> Ring<T> {
        fn get_mut(&mut self, position: u64) -> Option<&mut T> {
            if !self.has(position) {
                return None;
            }
            let place = self.place(position);
            self.places.get_mut(place)
        }
    }

    proptest! {
        #[test]
        fn agrees_with_a_list(steps in prop::collection::vec((0u8..8, any::<u16>()), 0..400)) {
            let (mut ring, mut list) = (Ring::default(), VecDeque::new());
            let mut gone = 0u64;
            for (step, value) in steps {
                match step {
                    0..=3 => {
                        ring.push_back(value);
                        list.push_back(value);
                    }
                    4 => {
                        // In order as far as the list is.
                        ring.push_in_order(value, |a, b| a > b);
                        list.push_back(value);
                        let mut i = list.len() - 1;
                        while i > 0 && list[i - 1] > list[i] {
                            list.swap(i, i - 1);
                            i -= 1;
                        }
                    }
                    5 | 6 => {
                        ring.pop_front();
                        gone += u64::from(list.pop_front().is_some());
                    }
                    _ => {
                        if let Some(entry) = ring.get_mut(gone + u64::from(value % 8)) {
                            *entry = value;
                        }
                        if let Some(entry) = list.get_mut(usize::from(value % 8)) {
                            *entry = value;
                        }
                    }
                }
                prop_assert_eq!(ring.len(), list.len());
                prop_assert_eq!((ring.front(), ring.back()), (list.front(), list.back()));
                prop_assert_eq!((ring.first(), ring.next()), (gone, gone + list.len() as u64));
                let all: Vec<u16> = (gone..ring.next()).filter_map(|p| ring.get(p)).copied().collect();
                prop_assert!(list.iter().eq(&all));
                prop_assert_eq!(ring.get(ring.next()), None);
                prop_assert_eq!(ring.get(gone.wrapping_sub(1)), None);
            }
        }

        #[test]
        fn partitions_as_slices_do(mut values in prop::collection::vec(any::<u8>(), 0..40), limit in any::<u8>()) {
            values.sort_unstable();
            let mut ring = Ring::default();
            for _ in 0..3 {
                ring.push_back(0);
                ring.pop_front();
            }
            values.iter().for_each(|&v| ring.push_back(v));
            let expected = 3 + values.partition_point(|&v| v < limit) as u64;
            prop_assert_eq!(ring.partition_point(|&v| v < limit), expected);
        }
    }
}
