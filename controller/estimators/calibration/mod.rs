// SPDX-License-Identifier: Apache-2.0
//! The calibration of the classifier's weights: `README.md`.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing
)]

pub(crate) mod dataset;
pub(crate) mod fit;
pub(crate) mod report;
