// SPDX-License-Identifier: Apache-2.0
//! A segment that has passed and awaits its acknowledgement.

/// See the module. 24 bytes: of these there are as many as packets in flight, and not all fit
/// the core's caches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unacked {
    pub seq: u64,
    pub egress_ns: u64,
    /// Length in the lower bits, delay in ns (up to three days) above.
    length_delay: u64,
}

const LENGTH_BITS: u32 = 16;

impl Unacked {
    #[inline]
    pub fn new(seq: u64, end: u64, egress_ns: u64, delay_ns: u64) -> Self {
        // An IP packet holds no more.
        let length = end.saturating_sub(seq).min((1 << LENGTH_BITS) - 1);
        let delay_ns = delay_ns.min((1 << (64 - LENGTH_BITS)) - 1);
        Self {
            seq,
            egress_ns,
            length_delay: delay_ns << LENGTH_BITS | length,
        }
    }

    #[inline]
    pub fn end(&self) -> u64 {
        self.seq + (self.length_delay & ((1 << LENGTH_BITS) - 1))
    }

    #[inline]
    pub fn delay_ns(&self) -> u64 {
        self.length_delay >> LENGTH_BITS
    }
}
