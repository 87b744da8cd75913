// SPDX-License-Identifier: Apache-2.0
//! Integration tests of `tidemark-control`, in one binary so that it is linked only once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

mod properties;
mod replay;
mod sim;
mod simulated_link;
mod transitions;
mod worlds;
