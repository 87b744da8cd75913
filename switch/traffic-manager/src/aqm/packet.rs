// SPDX-License-Identifier: Apache-2.0
//! A packet as the algorithms see it, and its fate.

/// The fate of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    /// The packet goes on, marked CE; only for ECN-capable packets.
    Mark,
    Drop,
}

impl Verdict {
    pub(super) fn signal(by_mark: bool) -> Self {
        if by_mark { Self::Mark } else { Self::Drop }
    }
}

/// A packet that arrives at its queue or leaves it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub now_ns: u64,
    pub frame_bytes: u64,
    /// Whether the packet may be marked: it is ECN-capable, and marking is configured.
    pub markable: bool,
    /// Bytes of all other packets in the queue.
    pub queue_bytes: u64,
    /// Rate of the port; 0: unlimited.
    pub rate_bps: u64,
}

/// Random number generator with a seed (SplitMix64).
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn of(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number within `[0, 1)`.
    pub(crate) fn fraction(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}
