// SPDX-License-Identifier: Apache-2.0
//! Counters of the whole switch.

/// Counters since the start.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Stats {
    /// Frames received.
    pub received: u64,
    /// Packets that the ingress pipeline dropped.
    pub dropped_ingress: u64,
    /// Packets that the egress pipeline dropped.
    pub dropped_egress: u64,
    /// Clones made.
    pub clones: u64,
    /// Packets whose `priority` has no queue.
    pub dropped_priority: u64,
    /// Packets dropped because too many were waiting for another pass.
    pub dropped_reinject: u64,
    /// Digests dropped because they were not fetched.
    pub dropped_digests: u64,
}
