// SPDX-License-Identifier: Apache-2.0
//! Integration tests of `tidemark-capture`, in one binary: the program is linked once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

mod crash;
mod damage;
mod missing;
mod old_capture;
mod rewritten;
