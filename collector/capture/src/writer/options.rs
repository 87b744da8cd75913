// SPDX-License-Identifier: Apache-2.0
//! How files are cut.

use std::time::Duration;

/// How files are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriterOptions {
    /// Files are completed after so many rows of one table ...
    pub rotate_rows: usize,
    /// ... or after this time: what a kill can lose at most.
    pub rotate_after: Duration,
    /// Level of the compression, 1 (fast) to 22 (small).
    pub zstd_level: i32,
    /// Wait for the writer instead of losing rows (imports).
    pub wait_when_full: bool,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            rotate_rows: 4_000_000,
            rotate_after: Duration::from_secs(5),
            zstd_level: 3,
            wait_when_full: false,
        }
    }
}
