// SPDX-License-Identifier: Apache-2.0
//! A packet on its way through the switch.

use std::ops::{Deref, Range};
use std::sync::Arc;

/// The egress port of dropped packets, as in BMv2.
pub const DROP_PORT: u32 = 511;

/// Values of `standard_metadata.instance_type`.
pub mod instance_type {
    /// Received.
    pub const NORMAL: u64 = 0;
    /// Made at the end of ingress.
    pub const INGRESS_CLONE: u64 = 1;
    /// Made at the end of egress.
    pub const EGRESS_CLONE: u64 = 2;
    /// Back from egress.
    pub const RECIRCULATED: u64 = 4;
    /// Of a multicast group.
    pub const REPLICATION: u64 = 5;
    /// Back from ingress.
    pub const RESUBMITTED: u64 = 6;
}

/// Bytes of a received frame, shared by its copies.
#[derive(Debug, Default, Clone)]
pub struct Frame(Option<Arc<Vec<u8>>>);

impl Frame {
    /// The buffer, if nobody else has it; this is without one afterwards.
    pub fn take_unshared(&mut self) -> Option<Arc<Vec<u8>>> {
        // The count cannot rise: who could raise it would be counted.
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
    /// The header vector.
    pub words: Box<[u64]>,
    /// The frame as it was received, shared with clones.
    pub frame: Frame,
    /// The part of the frame after the parsed headers.
    pub payload: Range<usize>,
    /// Requests of the program.
    pub requests: Requests,
    /// `packet_length` as the program sees it; headers added and removed change it.
    pub length_bytes: u32,
    /// As received: what counters and meters count.
    pub ingress_bytes: u32,
    /// Port that received it.
    pub ingress_port: u32,
}

impl Packet {
    /// The frame after the parsed headers.
    pub fn payload(&self) -> &[u8] {
        self.frame.get(self.payload.clone()).unwrap_or_default()
    }
}

/// Requests of the program to the traffic manager for the packet.
#[derive(Debug, Default, Clone)]
pub struct Requests {
    /// Session and field list.
    pub clone: Option<(u32, u32)>,
    /// Field list.
    pub resubmit: Option<u32>,
    /// Field list.
    pub recirculate: Option<u32>,
    /// Frame length to cut to on transmission.
    pub truncate_bytes: Option<u32>,
    /// List of the fields that the controller is told.
    pub digest: Option<u32>,
    /// `exit` was executed.
    pub exit: bool,
    /// An assertion of the program failed: the packet is dropped.
    pub failed: bool,
}
