// SPDX-License-Identifier: Apache-2.0
//! Faults while the power is on.

/// Kind of disk operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Writing bytes to a file, or truncating it.
    Write,
    /// Syncing a file.
    Sync,
    /// Creating, renaming or removing a file, or creating a directory.
    Name,
    /// Syncing a directory.
    SyncDirectory,
    /// Reading.
    Read,
}

/// Failure probabilities of operations, each between 0 and 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Errors {
    /// Writing bytes.
    pub write: f64,
    /// Syncing a file: some of the written bytes never reach the disk, not even with
    /// the next sync.
    pub sync: f64,
    /// Changing names and syncing directories.
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

/// Cuts the power at the n-th operation, of all kinds or of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fuse {
    pub operation: Option<Operation>,
    /// Remaining operations until then.
    pub left: u64,
}

impl Fuse {
    /// Returns whether the power goes at this operation.
    pub(crate) fn blows(&mut self, operation: Operation) -> bool {
        if self.operation.is_some_and(|o| o != operation) {
            return false;
        }
        let blows = self.left == 0;
        self.left = self.left.saturating_sub(1);
        blows
    }
}
