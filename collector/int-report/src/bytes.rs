// SPDX-License-Identifier: Apache-2.0
//! Big-endian reads that cannot panic.

pub(crate) use tidemark_layers::{be16, be32};

/// Takes words off the front of a slice.
#[derive(Clone, Copy)]
pub(crate) struct Words<'a>(pub &'a [u8]);

impl Words<'_> {
    #[inline(always)]
    pub(crate) fn u32(&mut self) -> Option<u32> {
        let (chunk, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*chunk))
    }

    #[inline(always)]
    pub(crate) fn u64(&mut self) -> Option<u64> {
        let (chunk, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_be_bytes(*chunk))
    }
}

/// Splits a word into two 16-bit interface ids; all ones stands for "not available".
#[inline(always)]
pub(crate) fn port_pair(word: u32) -> (Option<u32>, Option<u32>) {
    let available = |id: u32| (id != 0xffff).then_some(id);
    (available(word >> 16), available(word & 0xffff))
}

/// Splits a word into queue id (8 bits) and occupancy (24); all ones stands for "not available".
#[inline(always)]
pub(crate) fn queue_word(word: u32) -> (Option<u8>, Option<u32>) {
    if word == u32::MAX {
        (None, None)
    } else {
        (Some((word >> 24) as u8), Some(word & 0x00ff_ffff))
    }
}

/// Returns a 32-bit time; all ones stands for "not available".
#[inline(always)]
pub(crate) fn available32(time: u32) -> Option<u64> {
    (time != u32::MAX).then_some(u64::from(time))
}
