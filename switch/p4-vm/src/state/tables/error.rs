// SPDX-License-Identifier: Apache-2.0
//! Why a table refuses a change.

/// Why a table refuses a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// No room.
    #[error("table is full; a larger `size` in the P4 program makes room")]
    Full,
    /// The key is taken.
    #[error("an entry with this key exists already")]
    Exists,
    /// No entry of this name.
    #[error("no such entry")]
    NoEntry,
    /// Other keys than the table's.
    #[error("the keys do not fit the table")]
    BadKey,
    /// Not one of the table's actions.
    #[error("the action is not one of the table's or its arguments do not fit")]
    BadAction,
}
