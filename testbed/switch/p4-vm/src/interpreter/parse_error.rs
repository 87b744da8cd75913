// SPDX-License-Identifier: Apache-2.0
//! Why parsing stops.

/// Why parsing stopped: a value of the program's `error` type.
pub struct Stop(pub u64);
