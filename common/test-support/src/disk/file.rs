// SPDX-License-Identifier: Apache-2.0
//! The bytes of a file: as programs see them, as synced, and the changes pending in
//! between.

use crate::disk::cut::Survival;
use crate::rng::Rng;

/// Size of a sector, which a disk writes atomically.
pub(crate) const SECTOR_BYTES: usize = 512;

#[derive(Clone, Debug)]
pub(crate) enum Change {
    Write { at: usize, bytes: Vec<u8> },
    Cut(usize),
}

impl Change {
    fn apply(&self, to: &mut Vec<u8>) {
        match self {
            Self::Write { at, bytes } => {
                if to.len() < at + bytes.len() {
                    to.resize(at + bytes.len(), 0);
                }
                to[*at..at + bytes.len()].copy_from_slice(bytes);
            }
            Self::Cut(length) => to.truncate(*length),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Content {
    /// Content as programs see it.
    pub live: Vec<u8>,
    synced: Vec<u8>,
    pending: Vec<Change>,
    /// Ranges lost by a failed sync; no later sync writes them.
    forgotten: Vec<(usize, usize)>,
}

impl Content {
    pub(crate) fn change(&mut self, change: Change) {
        change.apply(&mut self.live);
        self.pending.push(change);
    }

    pub(crate) fn synced(&mut self) {
        let mut next = self.live.clone();
        for &(from, to) in &self.forgotten {
            for (i, byte) in next.iter_mut().enumerate().take(to).skip(from) {
                let again = self.pending.iter().any(|c| match c {
                    Change::Write { at, bytes } => (*at..at + bytes.len()).contains(&i),
                    Change::Cut(_) => false,
                });
                if !again {
                    *byte = self.synced.get(i).copied().unwrap_or(0);
                }
            }
        }
        let length = next.len();
        self.forgotten.retain(|&(from, _)| from < length);
        self.synced = next;
        self.pending.clear();
    }

    /// Fails a sync: the system forgets that some of the bytes were not written.
    pub(crate) fn sync_failed(&mut self, rng: &mut Rng) {
        for change in std::mem::take(&mut self.pending) {
            match change {
                Change::Write { at, bytes } if rng.chance(0.5) => {
                    self.forgotten.push((at, at + bytes.len()));
                }
                other => other.apply(&mut self.synced),
            }
        }
    }

    /// Returns the content after a power cut.
    pub(crate) fn survive(&self, how: Survival, rng: &mut Rng) -> Vec<u8> {
        let mut left = self.synced.clone();
        match how {
            Survival::Nothing => {}
            Survival::Everything => self.pending.iter().for_each(|c| c.apply(&mut left)),
            Survival::Beginning => {
                let most = rng.index(self.pending.len() + 1);
                self.pending
                    .iter()
                    .take(most)
                    .for_each(|c| c.apply(&mut left));
            }
            Survival::Torn => {
                let whole = rng.index(self.pending.len() + 1);
                self.pending
                    .iter()
                    .take(whole)
                    .for_each(|c| c.apply(&mut left));
                if let Some(Change::Write { at, bytes }) = self.pending.get(whole) {
                    let end = (at + rng.index(bytes.len() + 1)) / SECTOR_BYTES * SECTOR_BYTES;
                    let bytes = bytes[..end.saturating_sub(*at)].to_vec();
                    Change::Write { at: *at, bytes }.apply(&mut left);
                }
            }
            Survival::SomeSectors => self.some_sectors(&mut left, rng),
            Survival::LengthAlone => {
                for change in &self.pending {
                    match change {
                        Change::Write { at, bytes } => {
                            left.resize(left.len().max(at + bytes.len()), 0);
                        }
                        cut @ Change::Cut(_) => cut.apply(&mut left),
                    }
                }
            }
            Survival::Mixed => return self.survive(Survival::one(rng), rng),
        }
        left
    }

    /// Lets each sector and the length survive independently.
    fn some_sectors(&self, left: &mut Vec<u8>, rng: &mut Rng) {
        let mut all = left.clone();
        self.pending.iter().for_each(|c| c.apply(&mut all));
        if self.pending.is_empty() {
            return;
        }
        let length = if rng.chance(0.5) {
            all.len()
        } else {
            left.len()
        };
        left.resize(length, 0);
        for (sector, new) in left.chunks_mut(SECTOR_BYTES).zip(all.chunks(SECTOR_BYTES)) {
            if rng.chance(0.5) {
                let n = sector.len().min(new.len());
                sector[..n].copy_from_slice(&new[..n]);
            }
        }
    }

    /// Restarts after a power cut with the surviving content.
    pub(crate) fn restart(&mut self, left: Vec<u8>) {
        self.synced.clone_from(&left);
        self.live = left;
        self.pending.clear();
        self.forgotten.clear();
    }
}
