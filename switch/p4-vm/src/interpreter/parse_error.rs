// SPDX-License-Identifier: Apache-2.0
//! Why parsing stops.

/// Why parsing stopped: a value of the program's `error` type.
pub(super) struct Stop(pub u64);
