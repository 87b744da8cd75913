// SPDX-License-Identifier: Apache-2.0
//! Integration tests of `tidemark-advice`, in one binary so that it is linked only once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

mod closed_loop;
mod foreign;
mod predictions;
mod router;
