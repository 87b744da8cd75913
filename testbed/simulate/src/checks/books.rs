// SPDX-License-Identifier: Apache-2.0
//! What the log says, kept apart from what the loop says.

use crate::controller::targets;
use crate::plan::Plan;
use tidemark_control::Limit;
use tidemark_rules::Targets;

/// The books.
pub(super) struct ControlChecks {
    pub range: (u64, u64),
    pub targets: Targets,
    /// Trials under way, by the log.
    pub open_trials: usize,
    /// What a worse trial goes back to, until it has.
    pub owed: Option<Limit>,
    /// What stands on the switch is what the controller wrote last.
    pub ours: bool,
    pub set_records: u64,
    pub failed_records: u64,
}

impl ControlChecks {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            range: (plan.min_limit_bytes, plan.max_limit_bytes),
            targets: targets(plan),
            open_trials: 0,
            owed: None,
            ours: false,
            set_records: 0,
            failed_records: 0,
        }
    }
}
