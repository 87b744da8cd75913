// SPDX-License-Identifier: Apache-2.0
//! Identifiers of entries.

/// Identifies an entry within its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EntryId {
    /// Position among the entries compiled into the program.
    Compiled(u32),
    /// Entry added by the control plane, which chooses the number.
    Added(u64),
}
