// SPDX-License-Identifier: Apache-2.0
//! Multicast groups and clone sessions.

/// Copies of a multicast group or clone session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replica {
    pub port: u32,
    pub rid: u16,
}

#[derive(Debug, Clone, Default)]
pub struct CloneSession {
    pub replicas: Vec<Replica>,
    /// Copies keep at most this many bytes of the frame.
    pub length_bytes: Option<u32>,
}
