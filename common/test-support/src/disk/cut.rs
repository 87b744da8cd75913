// SPDX-License-Identifier: Apache-2.0
//! Kinds of power cut, by the pending changes that survive.

use crate::rng::Rng;

/// Pending changes that survive a power cut. Synced data survives in every case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survival {
    /// Nothing.
    Nothing,
    /// All: the disk had just written it.
    Everything,
    /// The first changes of each file, and the first of the names.
    Beginning,
    /// As [`Survival::Beginning`], and the next write of each file up to the border of a sector.
    Torn,
    /// Some sectors of each file, its length or not, and some of the names: also a
    /// rename without the file that it renames.
    SomeSectors,
    /// Names and lengths, but no bytes: zeros.
    LengthAlone,
    /// Another of these for each file, and for the names.
    Mixed,
}

impl Survival {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Nothing,
        Self::Everything,
        Self::Beginning,
        Self::Torn,
        Self::SomeSectors,
        Self::LengthAlone,
        Self::Mixed,
    ];

    /// One that is not [`Survival::Mixed`].
    pub(crate) fn one(rng: &mut Rng) -> Self {
        Self::ALL[rng.index(Self::ALL.len() - 1)]
    }
}
