// SPDX-License-Identifier: Apache-2.0
//! Parts of the world other than the programs: data, and the truth about it.

pub(crate) mod reports;
pub(crate) mod storage;
pub(crate) mod subscriber;
pub(crate) mod telemetry;
pub(crate) mod traffic;
pub(crate) mod truth;
