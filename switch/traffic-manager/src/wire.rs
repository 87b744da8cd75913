// SPDX-License-Identifier: Apache-2.0
//! The wire: receiver of the frames that leave, and their size on it.

/// Destination of frames at the end of their propagation delay.
pub trait Wire {
    /// Takes a frame that left `port` at `time_ns`.
    fn transmit(&mut self, port: u32, frame: Vec<u8>, time_ns: u64);

    /// Moves the buffers of sent frames to `spare` for the next frames: the most recently used
    /// buffers are still in the caches.
    fn give_back(&mut self, _spare: &mut Vec<Vec<u8>>) {}
}

/// Preamble, FCS and inter-frame gap: bytes that each frame adds on an Ethernet wire.
pub const WIRE_OVERHEAD_BYTES: u64 = 24;
/// Minimum frame size: shorter frames are padded on the wire.
pub const MIN_FRAME_BYTES: u64 = 60;

/// Times of consecutive frames at a rate.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// Remainder of the last division, so that rates hold exactly over time.
    carry: u64,
}

impl Pace {
    /// Returns the time of a frame on the wire in ns; 0 without a rate.
    pub(crate) fn time_ns(&mut self, frame_bytes: usize, rate_bps: u64) -> u64 {
        if rate_bps == 0 {
            return 0;
        }
        let total = u128::from(wire_bytes(frame_bytes)) * 8_000_000_000 + u128::from(self.carry);
        self.carry = (total % u128::from(rate_bps)) as u64;
        (total / u128::from(rate_bps)) as u64
    }
}

/// Returns the bytes that a frame occupies on an Ethernet wire.
fn wire_bytes(frame_bytes: usize) -> u64 {
    (frame_bytes as u64).max(MIN_FRAME_BYTES) + WIRE_OVERHEAD_BYTES
}
