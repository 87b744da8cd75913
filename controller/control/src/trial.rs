// SPDX-License-Identifier: Apache-2.0
//! A trial: observation of a limit set by advice. It is saved, so that a restart of the controller
//! does not leave a bad limit in force.

use crate::settings::Settings;
use crate::time::{Timestamp, nanoseconds};
use serde::{Deserialize, Serialize};
use tidemark_estimators::Estimate;
use tidemark_rules::{Goal, Limit, Observed};

/// Largest accepted delay of telemetry, s.
const PATIENCE_S: f64 = 15.0;
/// Time allowed for subscribing to a collector after a restart, s.
const SUBSCRIBED_S: f64 = 60.0;

/// The change on trial: its limits, its baseline, and when it settles. The format is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrialChange {
    /// The limit before the change, to which a rollback returns.
    pub before: Option<Limit>,
    /// The limit on trial, as read back.
    pub limit: Limit,
    /// Measurement before the change.
    pub measured_before: Observed,
    /// N_b before the change.
    pub n_b: Option<Estimate>,
    /// Goals that the advice gave up; they are not judged.
    pub given_up: Vec<Goal>,
    /// Time before which nothing is judged, Unix ms.
    pub settles_unix_ms: u64,
}

/// A change under observation.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The change on trial.
    pub change: TrialChange,
    /// Start and end of the observation, on the switch's clock, ns; `None` until telemetry has
    /// given that clock.
    pub span_ns: Option<(u64, u64)>,
    /// Time after which the trial ends without a verdict if its telemetry has not come.
    pub deadline: Timestamp,
}

impl Trial {
    /// Creates a trial that waits for telemetry, as after a restart.
    pub fn waiting(change: TrialChange, now: Timestamp) -> Self {
        Self {
            change,
            span_ns: None,
            deadline: now.plus_s(SUBSCRIBED_S),
        }
    }

    /// Fixes the observation span; the switch's clock now shows `clock_ns`.
    pub fn observe_from(&mut self, clock_ns: u64, settings: &Settings, now: Timestamp) {
        let left_ms = self.change.settles_unix_ms.saturating_sub(now.unix_ms);
        // A wall clock that was set back must not extend it.
        let settle_s = (left_ms as f64 / 1e3).min(settings.settle_s.max(0.0));
        let from_ns = clock_ns.saturating_add(nanoseconds(settle_s));
        let to_ns = from_ns.saturating_add(nanoseconds(settings.observe_s));
        self.span_ns = Some((from_ns, to_ns));
        self.deadline = now.plus_s(settle_s + settings.observe_s + PATIENCE_S);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp {
        monotonic_ns: 0,
        unix_ms: 1_700_000_000_000,
    };

    fn trial(settles_unix_ms: u64) -> Trial {
        let change = TrialChange {
            before: Some(Limit::Unlimited),
            limit: Limit::DropTail { limit_bytes: 9 },
            measured_before: Observed {
                utilisation: 1.0,
                loss_rate: 0.0,
                drops: 0,
                delay_mean_ms: 1.0,
                delay_p50_ms: 1.0,
                delay_p99_ms: 2.0,
                delay_max_ms: 2.0,
            },
            n_b: None,
            given_up: vec![Goal::Loss],
            settles_unix_ms,
        };
        Trial::waiting(change, NOW)
    }

    #[test]
    fn what_has_settled_is_observed_at_once() {
        let mut t = trial(NOW.unix_ms - 1);
        t.observe_from(7_000, &Settings::default(), NOW);
        assert_eq!(t.span_ns, Some((7_000, 7_000 + 10_000_000_000)));
    }

    #[test]
    fn settling_goes_on_and_never_takes_longer_than_it_may() {
        let settings = Settings::default();
        let mut t = trial(NOW.unix_ms + 2_000);
        t.observe_from(0, &settings, NOW);
        assert_eq!(t.span_ns.unwrap().0, 2_000_000_000);
        let mut t = trial(u64::MAX);
        t.observe_from(0, &settings, NOW);
        assert_eq!(t.span_ns.unwrap().0, 3_000_000_000);
    }
}
