// SPDX-License-Identifier: Apache-2.0
//! What the thread is told.

use crate::meta::CaptureMeta;
use std::sync::Arc;
use tidemark_rows::{FlatEvent, PostcardRow, ProbeRow};

/// Rows, or what belongs to the rows that follow.
pub(super) enum Message {
    Postcards(Vec<PostcardRow>),
    Probes(Vec<ProbeRow>),
    /// Names of hosts by their index; of the samples that follow.
    Hosts(Vec<Arc<str>>),
    Events(Vec<FlatEvent>),
    Meta(Box<CaptureMeta>),
}

impl Message {
    pub(super) fn rows(&self) -> u64 {
        (match self {
            Self::Postcards(r) => r.len(),
            Self::Probes(r) => r.len(),
            Self::Events(r) => r.len(),
            Self::Meta(_) | Self::Hosts(_) => 0,
        }) as u64
    }
}
