// SPDX-License-Identifier: Apache-2.0
//! Reasons why a table refuses a change.

/// Reason why a table refuses a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// The table is full.
    #[error("table is full; a larger `size` in the P4 program makes room")]
    Full,
    /// An entry with this key exists.
    #[error("an entry with this key exists already")]
    Exists,
    /// There is no such entry.
    #[error("no such entry")]
    NoEntry,
    /// The key does not match the table's key.
    #[error("the keys do not fit the table")]
    BadKey,
    /// The action is not one of the table's.
    #[error("the action is not one of the table's or its arguments do not fit")]
    BadAction,
}
