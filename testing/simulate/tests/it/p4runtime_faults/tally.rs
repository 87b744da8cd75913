// SPDX-License-Identifier: Apache-2.0
//! Counts a run's calls by result.

use std::ops::AddAssign;
use tidemark_southbound::Error;

/// Calls by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) set: u32,
    pub(crate) failed: u32,
    pub(crate) not_primary: u32,
    pub(crate) refused: u32,
    pub(crate) unconnected: u32,
    pub(crate) late: u32,
    pub(crate) pushed: u32,
    pub(crate) killed: u32,
}

impl Tally {
    /// Counts a call that failed.
    pub(crate) fn error(&mut self, e: &Error) {
        self.failed += 1;
        match e {
            Error::NotPrimary { .. } => self.not_primary += 1,
            Error::Connect { .. } => self.unconnected += 1,
            Error::Write { .. } => self.refused += 1,
            Error::Rpc { code, .. } if *code == tonic::Code::DeadlineExceeded => self.late += 1,
            _ => {}
        }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, t: Self) {
        self.set += t.set;
        self.failed += t.failed;
        self.not_primary += t.not_primary;
        self.refused += t.refused;
        self.unconnected += t.unconnected;
        self.late += t.late;
        self.pushed += t.pushed;
        self.killed += t.killed;
    }
}
