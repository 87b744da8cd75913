// SPDX-License-Identifier: Apache-2.0
//! One of several pipelines that share the nodes among them.

/// Which of how many pipelines one is. Everything of a node goes to the same
/// pipeline, so that each accounts for its nodes alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 0 on.
    pub index: u64,
    /// How many there are.
    pub of: u64,
}

impl Shard {
    /// The only pipeline.
    pub const WHOLE: Self = Self { index: 0, of: 1 };
}
