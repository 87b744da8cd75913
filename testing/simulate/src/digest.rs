// SPDX-License-Identifier: Apache-2.0
//! One number for everything that happened: two runs with the same are the same.

/// Mixes in values in their order.
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
