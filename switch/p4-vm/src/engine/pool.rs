// SPDX-License-Identifier: Apache-2.0
//! Packet buffers kept for reuse.

use std::sync::Arc;

use crate::packet::Packet;

/// Most buffers of a kind kept for reuse.
pub(super) const MOST: usize = 8192;

#[derive(Default)]
pub(super) struct Pool {
    /// Packets with header vectors but without frames; boxed so that they move between queues
    /// without being copied.
    #[allow(clippy::vec_box)]
    pub packets: Vec<Box<Packet>>,
    /// Frame buffers that are not shared.
    pub frames: Vec<Arc<Vec<u8>>>,
}
