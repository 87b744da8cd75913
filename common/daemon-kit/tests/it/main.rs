// SPDX-License-Identifier: Apache-2.0
//! Integration tests of `daemon-kit`, in one binary.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

mod credentials;
mod deadline;
mod http;
mod service_manager;
