// SPDX-License-Identifier: Apache-2.0
//! The body of every error.

use serde::{Deserialize, Serialize};

/// An error, and the field at fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Problem {
    /// The error and its remedy.
    pub message: String,
    /// The field at fault, as a path (`priority[1]`).
    pub field: Option<String>,
}

/// Body of an answer with status 4xx or 5xx.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ErrorBody {
    /// The error.
    pub error: Problem,
}
