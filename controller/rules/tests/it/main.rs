// SPDX-License-Identifier: Apache-2.0
//! Integration tests of `tidemark-rules`, in one binary so that it is linked only once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

mod papers;
