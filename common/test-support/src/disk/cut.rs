// SPDX-License-Identifier: Apache-2.0
//! Kinds of power cut, by the pending changes that survive.

use crate::rng::Rng;

/// Pending changes that survive a power cut. Synced data survives in every case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survival {
    /// Nothing survives.
    Nothing,
    /// Everything survives, as if the disk had just written it.
    Everything,
    /// The first changes of each file and the first changes of names.
    Beginning,
    /// Like [`Survival::Beginning`], plus the next write of each file up to a sector boundary.
    Torn,
    /// Some sectors of each file, perhaps its length, and some of the names, perhaps
    /// a rename without the file that it renames.
    SomeSectors,
    /// Names and lengths, but zeros instead of the bytes.
    LengthAlone,
    /// A random one of these for each file and for the names.
    Mixed,
}

impl Survival {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::Nothing,
        Self::Everything,
        Self::Beginning,
        Self::Torn,
        Self::SomeSectors,
        Self::LengthAlone,
        Self::Mixed,
    ];

    /// Returns a random kind other than [`Survival::Mixed`].
    pub(crate) fn one(rng: &mut Rng) -> Self {
        Self::ALL[rng.index(Self::ALL.len() - 1)]
    }
}
