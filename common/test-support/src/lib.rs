// SPDX-License-Identifier: Apache-2.0
//! Doubles and truth for the tests of every room.
//!
//! [`disk`] is a disk in memory that fills, fails and loses power; [`rng`] gives random numbers that are
//! the same everywhere; [`golden`] holds simulated runs with known truth; `certificates` (a feature of that
//! name) makes certificates for one test.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(feature = "certificates")]
pub mod certificates;
pub mod disk;
pub mod golden;
pub mod rng;
