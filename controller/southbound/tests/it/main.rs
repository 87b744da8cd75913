// SPDX-License-Identifier: Apache-2.0
//! Integration tests of `tidemark-southbound`, in one binary so that it is linked only once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

mod bfrt;
mod bfrt_inspection;
mod bfrt_server;
mod common;
mod credentials;
mod p4runtime;
mod p4runtime_inspection;
