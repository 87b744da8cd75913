// SPDX-License-Identifier: Apache-2.0
//! State that outlives a packet.

pub(crate) mod cells;
pub(crate) mod profiles;
pub(crate) mod tables;
pub(crate) mod value_sets;
