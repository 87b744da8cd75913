// SPDX-License-Identifier: Apache-2.0
//! The calibration of the classifier's weights: `README.md`.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing
)]

pub mod dataset;
pub mod fit;
pub mod report;
