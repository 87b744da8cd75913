// SPDX-License-Identifier: Apache-2.0
//! Embedded switch: runs a compiled v1model program on Linux interfaces.

pub mod bmv2;
pub mod engine;
pub mod tm;
