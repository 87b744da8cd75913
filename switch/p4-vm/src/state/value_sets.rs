// SPDX-License-Identifier: Apache-2.0
//! Parser value sets.

/// Members of the parser's value sets: packed keys for each set.
pub(crate) type ValueSets = Vec<Vec<Vec<u64>>>;
