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

/// The bound on loss.
pub(super) struct LossBound {
    pub bound: Option<Bound>,
    /// The limit is expected to keep it.
    pub attainable: bool,
}

impl LossBound {
    pub fn at(bound: Bound) -> Self {
        Self {
            bound: Some(bound),
            attainable: true,
        }
    }

    /// No limit keeps it; the one that comes nearest, where there is one.
    pub fn unattainable(bound: Option<Bound>) -> Self {
        Self {
            bound,
            attainable: false,
        }
    }
}
