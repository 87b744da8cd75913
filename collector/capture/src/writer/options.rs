// SPDX-License-Identifier: Apache-2.0
//! How files are cut.

use std::time::Duration;

/// How files are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriterOptions {
    /// Number of rows of one table after which files are completed.
    pub rotate_rows: usize,
    /// Time after which files are completed: the most that a kill can lose.
    pub rotate_after: Duration,
    /// Compression level, 1 (fast) to 22 (small).
    pub zstd_level: i32,
    /// Whether to wait for the writer instead of losing rows, as imports do.
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
