// SPDX-License-Identifier: Apache-2.0
//! State that survives a restart of the controller.

use super::state::{Hold, HoldReason};
use super::{Kept, LinkControl};
use crate::time::Timestamp;
use crate::trial::{Trial, TrialChange};
use crate::tried_limits::TriedLimits;
use tidemark_advice::Pool;
use tidemark_rules::{Limit, TriedLimit};

/// Longest rest, s.
const LONGEST_HOLD_S: f64 = 86_400.0;

/// Saved state of a link. Times are whole seconds in Unix ms, so that equal states give equal
/// files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SavedControl {
    /// The limit that we set; restored if the switch loses it.
    pub limit: Option<Limit>,
    /// Time of the last change.
    pub changed_unix_ms: Option<u64>,
    /// End of the rest of auto mode.
    pub hold_until_unix_ms: Option<u64>,
    /// The previous advice.
    pub kept: Option<Kept>,
    /// The evidence for the advice.
    pub pool: Pool,
    /// The change on trial.
    pub trial: Option<TrialChange>,
    /// Results of earlier limits under this traffic.
    pub tried: Vec<TriedLimit>,
}

impl LinkControl {
    /// Returns the state to save.
    pub fn saved(&self, now: Timestamp) -> SavedControl {
        let whole_second = |at: Timestamp| {
            let ahead_s = (at.monotonic_ns.saturating_sub(now.monotonic_ns)) as f64 / 1e9;
            ((now.unix_ms as f64 / 1e3 + ahead_s).round() * 1e3) as u64
        };
        let hold = self.state.hold().filter(|h| !now.reached(h.until));
        SavedControl {
            limit: self.memory.set,
            changed_unix_ms: self.memory.changed.map(whole_second),
            hold_until_unix_ms: hold.map(|h| whole_second(h.until)),
            kept: self.memory.kept,
            pool: self.memory.pool.clone(),
            trial: self.trial().map(|t| t.change.clone()),
            tried: self.memory.tried.earlier().to_vec(),
        }
    }

    /// Restores a saved state. A trial then waits for its telemetry.
    pub fn restore(&mut self, saved: SavedControl, now: Timestamp) {
        self.memory.set = saved.limit;
        let at = |unix_ms| now.at_unix_ms(unix_ms, LONGEST_HOLD_S);
        // A change is never in the future, whatever the wall clock says.
        self.memory.changed = saved.changed_unix_ms.map(|ms| at(ms.min(now.unix_ms)));
        if let Some(ms) = saved.hold_until_unix_ms {
            let (until, why) = (at(ms), HoldReason::Restored);
            self.state.set_hold(Some(Hold { until, why }));
        }
        if let Some(change) = saved.trial {
            self.state.start_trial(Trial::waiting(change, now));
        }
        self.memory.tried = TriedLimits::of_earlier(saved.tried);
        self.memory.kept = saved.kept;
        self.memory.pool = saved.pool;
    }
}
