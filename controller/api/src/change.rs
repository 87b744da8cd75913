// SPDX-License-Identifier: Apache-2.0
//! Limit changes, as in the audit log.

use serde::{Deserialize, Serialize};
use tidemark_control::Change;

/// The last limit changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Changes {
    /// The changes, oldest first.
    pub changes: Vec<Change>,
}
