// SPDX-License-Identifier: Apache-2.0
//! Multicast groups and clone sessions.

/// Copies of a multicast group or clone session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replica {
    /// Egress port.
    pub port: u32,
    /// Becomes `egress_rid`.
    pub rid: u16,
}

/// Destinations of clones.
#[derive(Debug, Clone, Default)]
pub struct CloneSession {
    /// One clone each.
    pub replicas: Vec<Replica>,
    /// Copies keep at most this many bytes of the frame.
    pub length_bytes: Option<u32>,
}
