// SPDX-License-Identifier: Apache-2.0
//! Parser value sets.

/// Values of the parser's value sets: per set, packed keys.
pub(crate) type ValueSets = Vec<Vec<Vec<u64>>>;
