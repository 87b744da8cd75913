// SPDX-License-Identifier: Apache-2.0
//! `[control]`: what may be done with advice, and its guard rails.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What the controller may do with its advice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Show it.
    #[default]
    Recommend,
    /// Apply it when an operator says so.
    Confirm,
    /// Apply it.
    Auto,
}

/// Guard rails of limit changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Control {
    pub mode: Mode,
    /// Every change is appended here as a line of JSON.
    pub audit_log: Option<PathBuf>,
    /// No limit below this is ever set.
    pub min_limit_bytes: u64,
    /// Nor above this.
    pub max_limit_bytes: u64,
    /// One change multiplies or divides the limit by at most this.
    pub max_step_factor: f64,
    /// Auto: one change divides the limit by at most this. What is measured with
    /// a large buffer says less of a small one than the other way round.
    pub max_decrease_factor: f64,
    /// Time between two changes of a link by advice, s.
    pub min_change_interval_s: f64,
    /// Advice is not applied when the newest telemetry is older, s.
    pub max_telemetry_age_s: f64,
    /// Nor when more than this fraction of the reports of the window was lost.
    pub max_report_loss: f64,
    /// After a change, what happens during this time is not judged, s.
    pub settle_s: f64,
    /// Then the outcome is measured over this time, s.
    pub observe_s: f64,
    /// The advice shown is the median of the last so many seconds.
    pub advice_memory_s: u32,
    /// It moves only when that median departs from it by more than this
    /// fraction.
    pub hysteresis: f64,
    /// Advice aims this fraction inside the bounds of loss and delay, and of what
    /// may stay unused of the capacity, so that what varies about the expected
    /// stays within them.
    pub headroom: f64,
    /// Shortest window that an advice is based on, s; with it, a change of the
    /// traffic is noticed.
    pub short_window_s: f64,
    /// Auto: advice within this fraction of the limit changes nothing, nor does
    /// a decrease by less than twice as much where the targets hold.
    pub deadband: f64,
    /// Auto: advice must agree this many seconds in a row.
    pub stable_s: u32,
    /// Auto: no change for this long after a rollback, s, unless the traffic
    /// changes; the limit that failed is remembered ten times as long.
    pub rollback_hold_s: f64,
    /// Write nothing to any switch; log what would have been written.
    pub dry_run: bool,
}

impl Default for Control {
    fn default() -> Self {
        Self {
            mode: Mode::Recommend,
            audit_log: None,
            min_limit_bytes: 15_140,
            max_limit_bytes: 16 << 20,
            max_step_factor: 8.0,
            max_decrease_factor: 2.0,
            min_change_interval_s: 10.0,
            max_telemetry_age_s: 3.0,
            max_report_loss: 0.01,
            settle_s: 3.0,
            observe_s: 10.0,
            advice_memory_s: 5,
            hysteresis: 0.1,
            headroom: 0.0,
            short_window_s: 3.0,
            deadband: 0.15,
            stable_s: 3,
            rollback_hold_s: 60.0,
            dry_run: false,
        }
    }
}
