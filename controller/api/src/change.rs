// SPDX-License-Identifier: Apache-2.0
//! Limit changes, as in the audit log.

use crate::{Limit, Observed, Prediction};
use serde::{Deserialize, Serialize};

/// Who wanted a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// `POST /links/{node}/{port}/limit`.
    Operator,
    /// `POST /advice/apply`.
    Confirmed,
    /// Auto mode.
    Auto,
    /// The verdict on a change, and the way back.
    Rollback,
    /// A switch that lost its state was given it back.
    Restore,
}

/// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Written and read back.
    Set,
    /// A guard rail refused it.
    Refused,
    /// The switch refused it, or reads back something else.
    Failed,
    /// `control.dry_run`: nothing was written.
    DryRun,
    /// Measured after the change and found good.
    Kept,
    /// Measured after the change and found worse than bound and before.
    Worse,
    /// Nothing can be told of the effect.
    Unclear,
}

/// One limit change: set, refused, judged or rolled back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Change {
    /// When, Unix time.
    pub unix_ms: u64,
    /// Node id of the switch.
    pub node: u32,
    /// Egress port.
    pub port: u32,
    /// Who wanted it.
    pub origin: Origin,
    /// What became of it.
    pub outcome: Outcome,
    /// Limit before; null when not known.
    pub before: Option<Limit>,
    /// Limit wanted, or as read back; null when there is none.
    pub limit: Option<Limit>,
    /// Why.
    pub reason: String,
    /// What the guard rail or the switch said.
    pub error: Option<String>,
    /// What the advice expects of the limit.
    pub expected: Option<Prediction>,
    /// Measured before the change.
    pub measured_before: Option<Observed>,
    /// Measured after the change.
    pub measured_after: Option<Observed>,
}

/// The last limit changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Changes {
    /// Oldest first.
    pub changes: Vec<Change>,
}
