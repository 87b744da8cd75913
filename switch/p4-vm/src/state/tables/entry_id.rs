// SPDX-License-Identifier: Apache-2.0
//! Names of entries.

/// Names an entry within its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EntryId {
    /// Position among the entries that are compiled into the program.
    Compiled(u32),
    /// An entry of the control plane, which chooses the number.
    Added(u64),
}
