// SPDX-License-Identifier: Apache-2.0
//! Entries of tables.

mod entry_id;
mod error;
mod index;
mod key;
mod table;

pub use entry_id::EntryId;
pub use error::TableError;
pub(crate) use table::next_for;
pub use table::{Entry, TableState};
