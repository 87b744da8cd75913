// SPDX-License-Identifier: Apache-2.0
//! Why a line cannot be read.

use thiserror::Error;

/// Why a line of one of the known tracepoints could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LineError {
    /// The time stamp cannot be read.
    #[error("time stamp is not `seconds.fraction`")]
    BadTime,
    /// A field is missing.
    #[allow(missing_docs)]
    #[error("field `{field}` is missing")]
    Missing { field: &'static str },
    /// A field has no readable value.
    #[allow(missing_docs)]
    #[error("field `{field}` has a bad value")]
    BadValue { field: &'static str },
}

impl LineError {
    /// A fixed word for this reason, for use as a metric label.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            Self::BadTime => "bad_time",
            Self::Missing { .. } => "missing_field",
            Self::BadValue { .. } => "bad_value",
        }
    }
}
