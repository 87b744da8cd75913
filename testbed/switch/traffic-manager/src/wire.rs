// SPDX-License-Identifier: Apache-2.0
//! What takes the frames that leave.

/// Where frames go at the end of their propagation delay.
pub trait Wire {
    /// Takes a frame that left `port` at `time_ns`.
    fn transmit(&mut self, port: u32, frame: Vec<u8>, time_ns: u64);
}
