// SPDX-License-Identifier: Apache-2.0
//! Configuration of the closed loop: `[control]`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How far the controller may apply its advice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Show it.
    #[default]
    Recommend,
    /// Apply it when an operator confirms it.
    Confirm,
    /// Apply it.
    Auto,
}

/// Policy for a change whose record cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuditPolicy {
    /// No change without its record.
    Required,
    /// It is made, and its answer, the status and the page say that its record is
    /// missing.
    BestEffort,
}

/// Reaction to a limit that someone else wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnDrift {
    /// It stays, and takes the place of ours.
    #[default]
    Keep,
    /// Ours is written again, at most once in `min_change_interval_s`.
    Restore,
}

/// Guard rails and times of limit changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// How far the controller may apply its advice, at the start.
    pub mode: Mode,
    /// The daemon appends every change to this file, one line of JSON each.
    pub audit_log: Option<PathBuf>,
    /// Policy for a change whose record cannot be written; absent: required in auto
    /// mode, else best effort.
    pub audit: Option<AuditPolicy>,
    /// Reaction to a limit that someone else wrote.
    pub on_drift: OnDrift,
    /// No limit below this is ever set, bytes.
    pub min_limit_bytes: u64,
    /// Nor above this, bytes.
    pub max_limit_bytes: u64,
    /// One change multiplies or divides the limit by at most this.
    pub max_step_factor: f64,
    /// Auto mode: one change divides the limit by at most this. What is measured
    /// with a large buffer says less of a small one than the other way round.
    pub max_decrease_factor: f64,
    /// Time between two changes of a link by advice, s.
    pub min_change_interval_s: f64,
    /// Advice is not applied when the newest report of the link is older, s.
    pub max_telemetry_age_s: f64,
    /// Advice is not applied when more than this fraction of the window's
    /// reports was lost, or when no record came of more of its time.
    pub max_report_loss: f64,
    /// Advice is not applied when it rests on fewer packets.
    pub min_arrivals: u64,
    /// Advice above the limit in force is not applied when it rests on fewer loss
    /// events.
    pub min_loss_events: u64,
    /// This time after a change is not judged, s.
    pub settle_s: f64,
    /// Then the outcome is measured over this time, s.
    pub observe_s: f64,
    /// Shortest window that an advice is based on, s; a change of the traffic is
    /// noticed with it.
    pub short_window_s: f64,
    /// Auto mode: advice within this fraction of the limit changes nothing, nor
    /// does a decrease by less than twice as much where the targets hold.
    pub deadband: f64,
    /// Auto mode: advice must agree this many seconds in a row.
    pub stable_s: u32,
    /// Auto mode: no change for this long after a rollback, s, unless the traffic
    /// changes; the limit that failed is remembered ten times as long.
    pub rollback_hold_s: f64,
    /// Write nothing to any switch; record what would be written.
    pub dry_run: bool,
}

impl Settings {
    /// Policy for a change whose record cannot be written.
    pub fn audit_policy(&self, mode: Mode) -> AuditPolicy {
        self.audit.unwrap_or(match mode {
            Mode::Auto => AuditPolicy::Required,
            Mode::Recommend | Mode::Confirm => AuditPolicy::BestEffort,
        })
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::Recommend,
            audit_log: None,
            audit: None,
            on_drift: OnDrift::Keep,
            min_limit_bytes: 15_140,
            max_limit_bytes: 16 << 20,
            max_step_factor: 8.0,
            max_decrease_factor: 2.0,
            min_change_interval_s: 10.0,
            max_telemetry_age_s: 3.0,
            max_report_loss: 0.01,
            min_arrivals: 1_000,
            min_loss_events: 1,
            settle_s: 3.0,
            observe_s: 10.0,
            short_window_s: 3.0,
            deadband: 0.15,
            stable_s: 3,
            rollback_hold_s: 60.0,
            dry_run: false,
        }
    }
}
