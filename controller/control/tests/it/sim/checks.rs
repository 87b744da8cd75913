// SPDX-License-Identifier: Apache-2.0
//! Checks the properties of the loop during a simulation.

use tidemark_control::{Change, Limit, Origin, Outcome, Range, Timestamp};

/// A decision to change the limit, and what was known at that time.
pub(crate) struct Decision {
    pub origin: Origin,
    pub now: Timestamp,
    /// Whether the telemetry was fresh.
    pub fresh: bool,
    /// Whether few enough reports were lost.
    pub complete: bool,
}

/// Checks of the properties of the loop during a simulation.
#[derive(Default)]
pub(crate) struct Checks {
    pub open_trials: usize,
    pub writes: usize,
    pub write_records: usize,
    /// Records of writes that failed before they began.
    pub read_failures: usize,
    pub trials: usize,
    pub verdicts: usize,
    pub rollbacks: usize,
    /// End of the rest of auto mode.
    rest_until: Option<Timestamp>,
    /// The limit that a rollback restores.
    back_to: Option<Limit>,
}

impl Checks {
    /// Notes that the traffic or the targets changed, which ends a rest.
    pub(crate) fn released(&mut self) {
        self.rest_until = None;
    }

    pub(crate) fn decided(&mut self, d: Decision) {
        if !matches!(d.origin, Origin::Auto | Origin::Confirmed) {
            return;
        }
        assert!(d.fresh, "a change on stale telemetry");
        assert!(d.complete, "a change on lossy telemetry");
        if d.origin == Origin::Auto {
            assert_eq!(self.open_trials, 0, "auto mode interrupts a trial");
            let rested = self.rest_until.is_none_or(|until| d.now.reached(until));
            assert!(rested, "no rest after a rollback");
        }
    }

    /// Checks that no value outside the range is written, whatever its origin.
    pub(crate) fn written(&mut self, origin: Origin, limit: Limit, range: Range) {
        self.writes += 1;
        for bytes in limit.bytes().into_iter().chain(limit.refuses_at_bytes()) {
            let allowed = range.min_bytes..=range.max_bytes;
            assert!(
                allowed.contains(&bytes),
                "{origin:?}: {limit} is outside of {range:?}"
            );
        }
        assert_eq!(limit.check(), Ok(()));
        match origin {
            Origin::Rollback => {
                let back = self.back_to.and_then(|b| range.nearest_limit(&b));
                assert_eq!(Some(limit), back, "back to something else");
            }
            Origin::Restore | Origin::Operator => {}
            _ => assert_ne!(limit, Limit::Unlimited, "advice without a value"),
        }
    }

    pub(crate) fn recorded(&mut self, change: &Change, now: Timestamp, hold_s: f64) {
        match change.outcome {
            Outcome::Set | Outcome::Failed => {
                self.write_records += 1;
                let advised = matches!(change.origin, Origin::Auto | Origin::Confirmed);
                if advised && change.outcome == Outcome::Set && change.measured_before.is_some() {
                    assert_eq!(self.open_trials, 0, "two trials at once");
                    self.open_trials += 1;
                    self.trials += 1;
                }
                if change.origin == Origin::Operator && change.outcome == Outcome::Set {
                    self.rest_until = None;
                }
                if change.origin == Origin::Rollback {
                    self.rollbacks += 1;
                    self.rest_until = Some(now.plus_s(hold_s));
                }
            }
            Outcome::Kept | Outcome::Worse | Outcome::Unclear => {
                assert_eq!(self.open_trials, 1, "a verdict without a trial");
                self.open_trials -= 1;
                self.verdicts += 1;
                self.back_to = change.before;
            }
            Outcome::Refused | Outcome::DryRun | Outcome::Found | Outcome::Intended => {}
        }
    }
}
