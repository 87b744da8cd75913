// SPDX-License-Identifier: Apache-2.0
//! Faults while the power is on.

/// A kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Bytes are written to a file, or taken away at its end.
    Write,
    /// A file is synced.
    Sync,
    /// A file is made, renamed or removed, or a directory made.
    Name,
    /// A directory is synced.
    SyncDirectory,
    /// Something is read.
    Read,
}

/// How often operations fail, each between 0 and 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Errors {
    /// Writing bytes.
    pub write: f64,
    /// Syncing a file: some of what was written never gets there, also not by the
    /// next sync.
    pub sync: f64,
    /// Names and their syncs.
    pub name: f64,
}

impl Errors {
    pub(crate) fn of(&self, operation: Operation) -> f64 {
        match operation {
            Operation::Write => self.write,
            Operation::Sync => self.sync,
            Operation::Name | Operation::SyncDirectory => self.name,
            Operation::Read => 0.0,
        }
    }
}

/// The power goes at the n-th operation, of all or of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fuse {
    pub operation: Option<Operation>,
    /// Operations until then.
    pub left: u64,
}

impl Fuse {
    /// Whether it blows at this operation.
    pub(crate) fn blows(&mut self, operation: Operation) -> bool {
        if self.operation.is_some_and(|o| o != operation) {
            return false;
        }
        let blows = self.left == 0;
        self.left = self.left.saturating_sub(1);
        blows
    }
}
