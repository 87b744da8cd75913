// SPDX-License-Identifier: Apache-2.0
//! Handles of a table's entries, numbered as in BMv2: the lowest free place, and in the bits
//! above it how often the place has been freed.

use crate::target::EntryId;
use std::collections::{BTreeSet, HashMap};

/// Number of bits of the place.
const PLACE_BITS: u32 = 24;
const PLACES: u32 = 1 << PLACE_BITS;

/// Reason why a handle has no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoEntry {
    Never,
    /// The entry of this handle is gone.
    Expired,
}

#[derive(Default)]
pub(crate) struct Handles {
    places: Vec<(u8, Option<EntryId>)>,
    free: BTreeSet<u32>,
    of: HashMap<EntryId, u32>,
}

impl Handles {
    /// Gives an entry a handle, unless it has one.
    pub(super) fn add(&mut self, id: EntryId) {
        if self.of.contains_key(&id) {
            return;
        }
        let place = match self.free.pop_first() {
            Some(p) => p,
            None => match u32::try_from(self.places.len()) {
                Ok(n) if n < PLACES => {
                    self.places.push((0, None));
                    n
                }
                // As in BMv2, which has no larger tables.
                _ => return,
            },
        };
        if let Some(p) = self.places.get_mut(place as usize) {
            p.1 = Some(id);
            self.of.insert(id, place);
        }
    }

    pub(super) fn remove(&mut self, id: EntryId) {
        let Some(place) = self.of.remove(&id) else {
            return;
        };
        if let Some(p) = self.places.get_mut(place as usize) {
            *p = (p.0.wrapping_add(1), None);
            self.free.insert(place);
        }
    }

    /// Returns the handle of an entry.
    pub(crate) fn of(&self, id: EntryId) -> Option<u32> {
        let place = *self.of.get(&id)?;
        let (version, _) = self.places.get(place as usize)?;
        Some(u32::from(*version) << PLACE_BITS | place)
    }

    /// Returns the entry of a handle.
    pub(crate) fn get(&self, handle: u32) -> Result<EntryId, NoEntry> {
        match self.places.get((handle % PLACES) as usize) {
            Some((v, Some(id))) if u32::from(*v) == handle >> PLACE_BITS => Ok(*id),
            Some((_, Some(_))) => Err(NoEntry::Expired),
            _ => Err(NoEntry::Never),
        }
    }

    /// Iterates over the entries in the order of their places.
    pub(crate) fn entries(&self) -> impl Iterator<Item = EntryId> {
        self.places.iter().filter_map(|(_, id)| *id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freed_place_is_taken_again_under_another_handle() {
        let mut h = Handles::default();
        (1..=3).for_each(|i| h.add(EntryId(i)));
        h.add(EntryId(2));
        assert_eq!(h.of(EntryId(3)), Some(2));
        h.remove(EntryId(2));
        assert_eq!(h.get(1), Err(NoEntry::Never));
        h.add(EntryId(9));
        assert_eq!(h.of(EntryId(9)), Some(0x0100_0001));
        assert_eq!(h.get(1), Err(NoEntry::Expired));
        assert_eq!(h.get(0x0100_0001), Ok(EntryId(9)));
        assert_eq!(h.get(7), Err(NoEntry::Never));
        assert_eq!(h.entries().collect::<Vec<_>>(), [1, 9, 3].map(EntryId));
    }
}
