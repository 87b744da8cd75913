// SPDX-License-Identifier: Apache-2.0
//! Configuration of the closed loop: `[control]`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How the controller uses its advice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Only shows the advice.
    #[default]
    Recommend,
    /// Applies the advice when an operator confirms it.
    Confirm,
    /// Applies the advice automatically.
    Auto,
}

/// Policy for a change whose record cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuditPolicy {
    /// A change is not made without its record.
    Required,
    /// The change is made, and its answer, the status and the page say that its record is missing.
    BestEffort,
}

/// Reaction to a limit that someone else wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnDrift {
    /// The new limit stays, and replaces ours.
    #[default]
    Keep,
    /// Our limit is written again, at most once in `min_change_interval_s`.
    Restore,
}

/// Guard rails and times of limit changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// How the controller uses its advice, at the start.
    pub mode: Mode,
    /// File to which the daemon appends every change, as one line of JSON.
    pub audit_log: Option<PathBuf>,
    /// Policy for a change whose record cannot be written; default: required in auto mode, else
    /// best effort.
    pub audit: Option<AuditPolicy>,
    /// Reaction to a limit that someone else wrote.
    pub on_drift: OnDrift,
    /// Lowest limit that is ever set, bytes.
    pub min_limit_bytes: u64,
    /// Highest limit that is ever set, bytes.
    pub max_limit_bytes: u64,
    /// Largest factor by which one change multiplies or divides the limit.
    pub max_step_factor: f64,
    /// Auto mode: largest factor by which one change divides the limit. Measurements with a large
    /// buffer predict a small one less well than the reverse.
    pub max_decrease_factor: f64,
    /// Minimum time between two changes of a link by advice, s.
    pub min_change_interval_s: f64,
    /// Largest age of the newest report of the link at which advice is applied, s.
    pub max_telemetry_age_s: f64,
    /// Largest fraction of the window's reports that may be lost for advice to be applied; also the
    /// largest fraction of its time without records.
    pub max_report_loss: f64,
    /// Smallest number of packets for advice to be applied.
    pub min_arrivals: u64,
    /// Smallest number of loss events for advice above the limit in force to be applied.
    pub min_loss_events: u64,
    /// Time after a change that is not judged, s.
    pub settle_s: f64,
    /// Time after that over which the outcome is measured, s.
    pub observe_s: f64,
    /// Shortest window on which an advice is based, s; also used to detect a change of the traffic.
    pub short_window_s: f64,
    /// Auto mode: fraction of the limit within which advice changes nothing.
    pub deadband: f64,
    /// Auto mode: seconds in a row for which advice must agree.
    pub stable_s: u32,
    /// Auto mode: time without changes after a rollback, s, unless the traffic changes; the limit
    /// that failed is remembered ten times as long.
    pub rollback_hold_s: f64,
    /// Write nothing to any switch; record what would be written.
    pub dry_run: bool,
}

impl Settings {
    /// Returns the policy for a change whose record cannot be written.
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
