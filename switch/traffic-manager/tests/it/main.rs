// SPDX-License-Identifier: Apache-2.0
//! Integration tests of `traffic-manager` in one binary, so that the program is linked once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

mod aqm;
mod buffers;
mod common;
mod priorities;
mod programs;
mod super_frame;
mod super_frames;
