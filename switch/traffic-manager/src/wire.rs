// SPDX-License-Identifier: Apache-2.0
//! The wire: what takes the frames that leave, and how many bytes they are on it.

/// Where frames go at the end of their propagation delay.
pub trait Wire {
    /// Takes a frame that left `port` at `time_ns`.
    fn transmit(&mut self, port: u32, frame: Vec<u8>, time_ns: u64);

    /// Moves the buffers of frames that were sent to `spare`, for the next frames: what was
    /// used last is still in the caches.
    fn give_back(&mut self, _spare: &mut Vec<Vec<u8>>) {}
}

/// Preamble, FCS and inter-frame gap: what a frame takes on an Ethernet wire
/// beside its bytes.
pub const WIRE_OVERHEAD_BYTES: u64 = 24;
/// Shorter frames are padded on the wire.
pub const MIN_FRAME_BYTES: u64 = 60;

/// Bytes of a frame on an Ethernet wire.
pub(crate) fn wire_bytes(frame_bytes: usize) -> u64 {
    (frame_bytes as u64).max(MIN_FRAME_BYTES) + WIRE_OVERHEAD_BYTES
}
