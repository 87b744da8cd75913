// SPDX-License-Identifier: Apache-2.0
//! Why a line cannot be read.

use thiserror::Error;

/// Why a line of one of the known tracepoints could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the message of each variant says what it is")]
pub enum LineError {
    #[error("timestamp is not `seconds.fraction`")]
    BadTime,
    #[error("field `{field}` is missing")]
    Missing { field: &'static str },
    #[error("field `{field}` has a bad value")]
    BadValue { field: &'static str },
}
