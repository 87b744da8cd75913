// SPDX-License-Identifier: Apache-2.0
//! A look ahead of a flow's turn.

use super::index::PackedKey;

/// Where a flow probably is, from a look ahead of its turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowHint {
    pub slot: u32,
    pub(super) key: PackedKey,
}
