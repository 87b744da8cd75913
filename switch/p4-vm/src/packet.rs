// SPDX-License-Identifier: Apache-2.0
//! A packet on its way through the switch.

use std::ops::{Deref, Range};
use std::sync::Arc;

/// Egress port of dropped packets, as in BMv2.
pub const DROP_PORT: u32 = 511;

/// Values of `standard_metadata.instance_type`.
pub mod instance_type {
    /// Received packet.
    pub const NORMAL: u64 = 0;
    /// Clone made at the end of ingress.
    pub const INGRESS_CLONE: u64 = 1;
    /// Clone made at the end of egress.
    pub const EGRESS_CLONE: u64 = 2;
    /// Packet sent back from egress.
    pub const RECIRCULATED: u64 = 4;
    /// Copy made by a multicast group.
    pub const REPLICATION: u64 = 5;
    /// Packet sent back from ingress.
    pub const RESUBMITTED: u64 = 6;
}

/// Bytes of a received frame, shared by its copies.
#[derive(Debug, Default, Clone)]
pub struct Frame(Option<Arc<Vec<u8>>>);

impl Frame {
    /// Takes the buffer if no other `Frame` shares it; in any case `self` is left empty.
    pub fn take_unshared(&mut self) -> Option<Arc<Vec<u8>>> {
        // The count cannot rise, as only another owner could raise it.
        self.0.take().filter(|f| Arc::strong_count(f) == 1)
    }
}

impl From<Arc<Vec<u8>>> for Frame {
    fn from(f: Arc<Vec<u8>>) -> Self {
        Self(Some(f))
    }
}

impl From<Vec<u8>> for Frame {
    fn from(f: Vec<u8>) -> Self {
        Self(Some(Arc::new(f)))
    }
}

impl Deref for Frame {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_deref().map_or(&[], Vec::as_slice)
    }
}

/// A packet.
#[derive(Debug)]
pub struct Packet {
    /// Header vector.
    pub words: Box<[u64]>,
    /// Frame as received, shared with clones.
    pub frame: Frame,
    /// Part of the frame after the parsed headers.
    pub payload: Range<usize>,
    /// Requests of the program.
    pub requests: Requests,
    /// `packet_length` as the program sees it; headers added and removed change it.
    pub length_bytes: u32,
    /// Length as received, which counters and meters count.
    pub ingress_bytes: u32,
    /// Port that received the packet.
    pub ingress_port: u32,
}

impl Packet {
    /// Returns the part of the frame after the parsed headers.
    pub fn payload(&self) -> &[u8] {
        self.frame.get(self.payload.clone()).unwrap_or_default()
    }
}

/// Requests that the program makes to the traffic manager for a packet.
#[derive(Debug, Default, Clone)]
pub struct Requests {
    /// Clone: session and field list.
    pub clone: Option<(u32, u32)>,
    /// Resubmission: field list.
    pub resubmit: Option<u32>,
    /// Recirculation: field list.
    pub recirculate: Option<u32>,
    /// Length to which the frame is truncated on transmission.
    pub truncate_bytes: Option<u32>,
    /// Digest: list of the fields to send to the controller.
    pub digest: Option<u32>,
    /// Whether `exit` was executed.
    pub exit: bool,
    /// Whether an assertion of the program failed: the packet is dropped.
    pub failed: bool,
}
