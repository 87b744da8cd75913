// SPDX-License-Identifier: Apache-2.0
//! A digest of everything that happened: equal runs have equal digests.

/// Mixes in values, in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Digest {
    value: u64,
}

impl Digest {
    /// Mixes in one number.
    pub(crate) fn add(&mut self, x: u64) {
        self.value = (self.value.rotate_left(5) ^ x).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    /// The number.
    pub(crate) fn value(&self) -> u64 {
        self.value
    }
}
