// SPDX-License-Identifier: Apache-2.0
//! The wire: what takes the frames that leave, and how many bytes they are on it.

/// Destination of frames at the end of their propagation delay.
pub trait Wire {
    /// Takes a frame that left `port` at `time_ns`.
    fn transmit(&mut self, port: u32, frame: Vec<u8>, time_ns: u64);

    /// Moves the buffers of frames that were sent to `spare`, for the next frames: what was
    /// used last is still in the caches.
    fn give_back(&mut self, _spare: &mut Vec<Vec<u8>>) {}
}

/// Preamble, FCS and inter-frame gap: bytes that a frame takes on an Ethernet wire besides its own.
pub const WIRE_OVERHEAD_BYTES: u64 = 24;
/// Shorter frames are padded on the wire.
pub const MIN_FRAME_BYTES: u64 = 60;

/// Frames one after the other at a rate.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// Rest of the last division, so that rates hold exactly over time.
    carry: u64,
}

impl Pace {
    /// Time of a frame on the wire, ns; 0 without a rate.
    pub(crate) fn time_ns(&mut self, frame_bytes: usize, rate_bps: u64) -> u64 {
        if rate_bps == 0 {
            return 0;
        }
        let total = u128::from(wire_bytes(frame_bytes)) * 8_000_000_000 + u128::from(self.carry);
        self.carry = (total % u128::from(rate_bps)) as u64;
        (total / u128::from(rate_bps)) as u64
    }
}

/// Bytes of a frame on an Ethernet wire.
fn wire_bytes(frame_bytes: usize) -> u64 {
    (frame_bytes as u64).max(MIN_FRAME_BYTES) + WIRE_OVERHEAD_BYTES
}
