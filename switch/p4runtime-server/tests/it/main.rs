// SPDX-License-Identifier: Apache-2.0
//! Tests the server over a real connection, with a mock switch.

// Helpers outside of #[test] functions, which clippy does not see as tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

mod arrays;
mod digests;
mod idle;
mod meters;
mod others;
mod packets;
mod profiles;
mod reconcile;
mod rpcs;
mod tables;
