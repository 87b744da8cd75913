// SPDX-License-Identifier: Apache-2.0
//! Counters of the whole switch.

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Stats {
    pub received: u64,
    pub dropped_ingress: u64,
    pub dropped_egress: u64,
    pub clones: u64,
    /// `priority` above 0, for which there is no queue.
    pub dropped_priority: u64,
    /// Too many packets were waiting for another pass.
    pub dropped_reinject: u64,
    /// Digests that nobody fetched.
    pub dropped_digests: u64,
}
