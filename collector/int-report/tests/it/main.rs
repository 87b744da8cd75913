// SPDX-License-Identifier: Apache-2.0
//! Integration tests of `int-report`, in one binary: the program is linked once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

mod p4_layout;
mod simulated_runs;
mod switch_reports;
