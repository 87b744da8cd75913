// SPDX-License-Identifier: Apache-2.0
//! Errors of damaged files.

use std::io;

/// Returns the error of a damaged file, with a description.
pub(crate) fn invalid(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}
