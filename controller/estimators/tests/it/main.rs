// SPDX-License-Identifier: Apache-2.0
//! Integration tests of `tidemark-estimators`, in one binary so that it is linked only once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

mod calibrated;
#[path = "../../calibration/mod.rs"]
mod calibration;
mod congestion_control;
mod mixed_sampling;
mod ns3;
mod queues_word;
mod sim;
mod synthetic;
#[path = "../../calibration/training.rs"]
mod training;
mod truth;
mod truth_table;
mod verdict;
