// SPDX-License-Identifier: Apache-2.0
//! Buffers of packets, kept for reuse.

use std::sync::Arc;

use crate::packet::Packet;

/// Buffers kept for reuse.
pub(super) const MOST: usize = 8192;

#[derive(Default)]
pub(super) struct Pool {
    /// With header vectors, without frames; boxed so that they go from queue to
    /// queue without being copied.
    #[allow(clippy::vec_box)]
    pub packets: Vec<Box<Packet>>,
    /// Nobody else has any of these.
    pub frames: Vec<Arc<Vec<u8>>>,
}
