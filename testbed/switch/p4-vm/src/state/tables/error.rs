// SPDX-License-Identifier: Apache-2.0
//! Why a table refuses a change.

/// Why a table refuses a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    #[error("table is full; a larger `size` in the P4 program makes room")]
    Full,
    #[error("an entry with this key exists already")]
    Exists,
    #[error("no such entry")]
    NoEntry,
    #[error("the keys do not fit the table")]
    BadKey,
    #[error("the action is not one of the table's or its arguments do not fit")]
    BadAction,
}
