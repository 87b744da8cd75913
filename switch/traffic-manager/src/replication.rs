// SPDX-License-Identifier: Apache-2.0
//! Multicast groups and clone sessions.

/// One copy of a multicast group or clone session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replica {
    /// Egress port.
    pub port: u32,
    /// Value of `egress_rid` in the copy.
    pub rid: u16,
}

/// Destinations of the clones of a session.
#[derive(Debug, Clone, Default)]
pub struct CloneSession {
    /// Destinations; each gets one clone.
    pub replicas: Vec<Replica>,
    /// Most bytes of the frame that a clone keeps.
    pub length_bytes: Option<u32>,
}
