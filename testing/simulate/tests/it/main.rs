// SPDX-License-Identifier: Apache-2.0
//! Integration tests of `tidemark-simulate`, in one binary: the programs are linked once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

mod clickhouse_power_cuts;
mod p4runtime_faults;
mod seeds;
