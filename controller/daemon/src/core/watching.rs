// SPDX-License-Identifier: Apache-2.0
//! A change whose outcome is being measured; it is saved, so that a restart of
//! the controller does not leave a bad limit in force.

use super::audit::unix_ms;
use crate::config::Control;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};
use tidemark_estimators::Estimate;
use tidemark_rules::{Goal, Observed};
use tidemark_southbound::Limit;

/// Telemetry may come so much later than what it tells of.
const PATIENCE: Duration = Duration::from_secs(15);
/// After a restart it may take so long until a collector is subscribed to.
const SUBSCRIBED: Duration = Duration::from_secs(60);

/// What was changed, what it was measured by before, and what remains of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watched {
    /// What to go back to.
    pub before: Option<Limit>,
    pub limit: Limit,
    pub measured_before: Observed,
    /// N_b before it.
    pub n_b: Option<Estimate>,
    /// Goals that the advice gave up.
    pub given_up: Vec<Goal>,
    /// What happens before is not judged, Unix ms.
    pub settles_unix_ms: u64,
}

/// A change under observation.
#[derive(Clone, Debug, PartialEq)]
pub struct Watching {
    pub change: Watched,
    /// The outcome is measured over this span of the switch's clock; unknown
    /// until telemetry tells that clock.
    pub span_ns: Option<(u64, u64)>,
    /// Given up when the telemetry has not come by then.
    pub deadline: Instant,
}

impl Watching {
    /// A change whose telemetry has yet to come: one made before a restart.
    pub fn waiting(change: Watched) -> Self {
        Self {
            change,
            span_ns: None,
            deadline: Instant::now() + SUBSCRIBED,
        }
    }

    /// Fixes the span of the observation, where the switch's clock shows
    /// `now_ns`.
    pub fn observe_from(&mut self, now_ns: u64, control: &Control) {
        let settles = self.change.settles_unix_ms.saturating_sub(unix_ms());
        // A clock of the day that was set back must not stretch it.
        let settles = Duration::from_millis(settles).min(seconds(control.settle_s));
        let observed = seconds(control.observe_s);
        let from_ns = now_ns.saturating_add(nanoseconds(settles));
        self.span_ns = Some((from_ns, from_ns.saturating_add(nanoseconds(observed))));
        self.deadline = Instant::now() + settles + observed + PATIENCE;
    }
}

/// When a change made now has settled, Unix ms.
pub fn settles_unix_ms(control: &Control) -> u64 {
    let settle = seconds(control.settle_s).as_millis();
    unix_ms().saturating_add(u64::try_from(settle).unwrap_or(u64::MAX))
}

fn seconds(s: f64) -> Duration {
    Duration::try_from_secs_f64(s).unwrap_or_default()
}

fn nanoseconds(d: Duration) -> u64 {
    u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watching(settles_unix_ms: u64) -> Watching {
        Watching::waiting(Watched {
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
        })
    }

    #[test]
    fn what_has_settled_is_observed_at_once() {
        let control = Control::default();
        let mut w = watching(unix_ms() - 1);
        w.observe_from(7_000, &control);
        assert_eq!(w.span_ns, Some((7_000, 7_000 + 10_000_000_000)));
    }

    #[test]
    fn settling_goes_on_and_never_takes_longer_than_it_may() {
        let control = Control::default();
        let mut w = watching(settles_unix_ms(&control));
        w.observe_from(0, &control);
        let from_ns = w.span_ns.unwrap().0;
        assert!(from_ns > 0 && from_ns <= 3_000_000_000, "{from_ns}");
        let mut w = watching(u64::MAX);
        w.observe_from(0, &control);
        assert_eq!(w.span_ns.unwrap().0, 3_000_000_000);
    }
}
