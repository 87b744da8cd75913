// SPDX-License-Identifier: Apache-2.0
//! Audit records of all limit changes, requested or made. The format is stored.

use serde::{Deserialize, Serialize};
use tidemark_advice::Prediction;
use tidemark_estimators::LinkId;
use tidemark_rules::{Limit, Observed};

/// Who requested a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// An operator, with their own value.
    Operator,
    /// An operator who confirmed the advice.
    Confirmed,
    /// Auto mode.
    Auto,
    /// The way back after a verdict on a trial. (Logs of older releases also use it for the
    /// verdict.)
    Rollback,
    /// The verdict on a trial.
    Trial,
    /// Restoration of the limit of a switch that lost its state.
    Restore,
    /// The configured limit of a switch that has none (`[switches.provision.limits]`).
    Provision,
    /// Someone other than this controller.
    // The name in records is older.
    #[serde(rename = "foreign")]
    External,
}

impl Origin {
    /// Returns the name in records and answers.
    pub fn label(self) -> &'static str {
        match self {
            Origin::Operator => "operator",
            Origin::Confirmed => "confirmed",
            Origin::Auto => "auto",
            Origin::Rollback => "rollback",
            Origin::Trial => "trial",
            Origin::Restore => "restore",
            Origin::Provision => "provision",
            Origin::External => "foreign",
        }
    }
}

/// Outcome of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Written and read back.
    Set,
    /// Refused by a guard rail.
    Refused,
    /// Refused by the switch, or a different value was read back.
    Failed,
    /// Not written, because of `control.dry_run`.
    DryRun,
    /// About to be written; a record of the outcome follows. If there is none, the controller ended
    /// in between, or a switch being provisioned has not answered yet. Only in the log file.
    Intended,
    /// Found on the switch instead of the expected limit, which is `before`.
    Found,
    /// Verdict: the limit stays in force.
    Kept,
    /// Verdict: worse than the bound and than before.
    Worse,
    /// Verdict: there was nothing to judge.
    Unclear,
}

impl Outcome {
    /// All outcomes.
    pub const ALL: [Self; 9] = [
        Outcome::Set,
        Outcome::Refused,
        Outcome::Failed,
        Outcome::DryRun,
        Outcome::Intended,
        Outcome::Found,
        Outcome::Kept,
        Outcome::Worse,
        Outcome::Unclear,
    ];

    /// Returns the name in records, metrics and answers.
    pub fn label(self) -> &'static str {
        match self {
            Outcome::Set => "set",
            Outcome::Refused => "refused",
            Outcome::Failed => "failed",
            Outcome::DryRun => "dry_run",
            Outcome::Intended => "intended",
            Outcome::Found => "found",
            Outcome::Kept => "kept",
            Outcome::Worse => "worse",
            Outcome::Unclear => "unclear",
        }
    }

    /// Returns whether this outcome ends a write.
    pub fn ends_write(self) -> bool {
        matches!(self, Outcome::Set | Outcome::Failed)
    }
}

/// One record of the audit log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Change {
    /// Time, Unix ms.
    pub unix_ms: u64,
    /// Node of the link.
    pub node: u32,
    /// Egress port of the link.
    pub port: u32,
    /// Queue of the port; omitted if 0, as in older records, in which links had no queue.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub queue: u32,
    /// Who requested the change.
    pub origin: Origin,
    /// Outcome of the change.
    pub outcome: Outcome,
    /// The limit before the change, if known.
    pub before: Option<Limit>,
    /// The requested limit.
    pub limit: Option<Limit>,
    /// Reason, in words.
    pub reason: String,
    /// Error of the guard rail or of the switch.
    pub error: Option<String>,
    /// The advisor's prediction for the limit.
    pub expected: Option<Prediction>,
    /// Measurement before the change.
    pub measured_before: Option<Observed>,
    /// Measurement after the change, in a verdict.
    pub measured_after: Option<Observed>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde asks for"
)]
fn is_zero(queue: &u32) -> bool {
    *queue == 0
}

impl Change {
    /// Creates a record with the fields that every record has.
    pub fn new(
        link: LinkId,
        origin: Origin,
        outcome: Outcome,
        reason: String,
        unix_ms: u64,
    ) -> Self {
        Self {
            unix_ms,
            node: link.node_id,
            port: link.port,
            queue: link.queue,
            origin,
            outcome,
            before: None,
            limit: None,
            reason,
            error: None,
            expected: None,
            measured_before: None,
            measured_after: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_the_names_in_records() {
        let name = |v: serde_json::Value| v.as_str().map(str::to_owned);
        let origins = [
            Origin::Operator,
            Origin::Confirmed,
            Origin::Auto,
            Origin::Rollback,
            Origin::Trial,
            Origin::Restore,
            Origin::Provision,
            Origin::External,
        ];
        for origin in origins {
            let written = serde_json::to_value(origin).unwrap();
            assert_eq!(name(written).as_deref(), Some(origin.label()));
        }
        for outcome in Outcome::ALL {
            let written = serde_json::to_value(outcome).unwrap();
            assert_eq!(name(written).as_deref(), Some(outcome.label()));
        }
    }
}
