// SPDX-License-Identifier: Apache-2.0
//! The limit that one target asks for.

use crate::rule::RuleId;

/// Short of the target by less than this still meets it.
pub(super) const UTILISATION_TOLERANCE: f64 = 0.001;

/// The limit one target asks for, and what says so.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    pub bytes: f64,
    pub rule: RuleId,
}
