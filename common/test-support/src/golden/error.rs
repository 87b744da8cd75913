// SPDX-License-Identifier: Apache-2.0
//! Files that are damaged.

use std::io;

/// The error of a damaged file: what is wrong with it.
pub(crate) fn invalid(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}
