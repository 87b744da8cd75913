// SPDX-License-Identifier: Apache-2.0
//! Whether an advice is worth a change of the limit in force: a dead band around
//! it. It remembers nothing and knows no time; trials and pauses are the control
//! loop's.

use crate::advice::Advice;
use crate::targets::{Goal, Targets};
use crate::traffic::Regime;
use serde::{Deserialize, Serialize};

/// An answer with its reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The limit should be changed.
    pub worth: bool,
    /// Why, or why not.
    pub why: String,
}

impl Change {
    fn new(worth: bool, why: impl Into<String>) -> Self {
        Self {
            worth,
            why: why.into(),
        }
    }
}

/// Smallest relative change that is worth anything, by default.
pub const LEAST_CHANGE: f64 = 0.1;

/// Utilisation this far below its target is not yet a miss: the estimate moves
/// by as much.
const UTILISATION_SLACK: f64 = 0.002;
/// The same for a bound on loss or delay, relative.
const BOUND_SLACK: f64 = 0.05;

/// Whether to move from the limit in force to the advised one. Not for less than
/// `least_change` (relative), of which 5 % are enough to end a miss of what the advice
/// does not give up; upwards only when a target is missed at the limit in force; downwards when
/// the bound on delay is missed there, or when the gain is at least twice
/// `least_change` and the targets are expected to hold at the advised limit. With the
/// advice's own range of error inside these steps, a limit that serves is left alone.
pub fn worth_changing(advice: &Advice, targets: &Targets, least_change: f64) -> Change {
    match advice.limit_bytes {
        Some(advised) => worth_a_step(advice, advised, targets, least_change),
        None => Change::new(false, "no limit is advised"),
    }
}

/// The same of a step that ends at `to_bytes`, on the way to the advice. One that
/// stops short of it ends no miss, and is followed by the next: it is not worth less
/// than `least_change` in any case.
pub fn worth_a_step(
    advice: &Advice,
    to_bytes: u64,
    targets: &Targets,
    least_change: f64,
) -> Change {
    let Some(present) = advice.present.as_ref().filter(|p| p.limit_bytes > 0.0) else {
        return Change::new(true, "no limit in force is known");
    };
    let ratio = to_bytes as f64 / present.limit_bytes;
    let Some(there) = present.predicted else {
        return match near(ratio, least_change) {
            Some(why) => Change::new(false, why),
            None => Change::new(true, "the limit in force cannot be judged"),
        };
    };
    let misses_delay = targets
        .delay_ms
        .is_some_and(|bound_ms| there.delay_ms.value > bound_ms * (1.0 + BOUND_SLACK));
    // What was measured there decides, where something could fill the link.
    let measured = present
        .measured
        .filter(|_| advice.regime == Regime::Elastic);
    let utilisation = measured.map_or(there.utilisation.value, |m| m.utilisation);
    let loss_rate = measured.map_or(there.loss_rate.value, |m| m.loss_rate);
    let misses_loss = targets
        .loss_rate
        .is_some_and(|p| loss_rate > p * (1.0 + BOUND_SLACK));
    let misses_utilisation = utilisation < targets.utilisation - UTILISATION_SLACK;
    let ends_miss = advice.limit_bytes == Some(to_bytes)
        && if ratio < 1.0 {
            misses_delay && !gives_up(advice, Goal::Delay)
        } else {
            misses_utilisation && !gives_up(advice, Goal::Utilisation)
                || misses_loss && !gives_up(advice, Goal::Loss)
        };
    let least = if ends_miss {
        least_change.min(BOUND_SLACK)
    } else {
        least_change
    };
    if let Some(why) = near(ratio, least) {
        return Change::new(false, why);
    }
    if ratio > 1.0 {
        return match (misses_utilisation, misses_loss) {
            (false, false) => Change::new(false, "the targets hold at the limit in force"),
            (true, false) => Change::new(true, "utilisation is missed at the limit in force"),
            (false, true) => Change::new(true, "loss is missed at the limit in force"),
            (true, true) => Change::new(true, "utilisation and loss are missed"),
        };
    }
    if misses_delay {
        return Change::new(true, "delay is missed at the limit in force");
    }
    if ratio * (1.0 + 2.0 * least) > 1.0 {
        return Change::new(false, "the targets hold and little delay would be won");
    }
    if !advice.feasible {
        return Change::new(false, "the targets do not all hold at the advised limit");
    }
    Change::new(true, "the targets hold with a smaller buffer too")
}

/// Why a limit of this ratio to the one in force changes too little, if it does.
fn near(ratio: f64, least_change: f64) -> Option<String> {
    let least = least_change.max(0.0);
    (1.0 / (1.0 + least)..=1.0 + least)
        .contains(&ratio)
        .then(|| format!("within {:.0} % of the limit in force", least * 100.0))
}

/// The advised limit is not expected to reach this goal.
fn gives_up(advice: &Advice, goal: Goal) -> bool {
    let given_up = advice.infeasible.as_ref().map(|i| &i.given_up);
    given_up.is_some_and(|goals| goals.contains(&goal))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::{Infeasibility, Nearest, Present};
    use crate::prediction::Prediction;
    use crate::range::Range;
    use crate::targets::Options;
    use crate::traffic::{Observed, Traffic};

    fn advice(present: f64, advised: u64, utilisation: f64, loss: f64, delay_ms: f64) -> Advice {
        let m = Traffic::described(50e6, 0.06, 100.0, 1500.0);
        let mut a = crate::advise(&m, &Targets::default(), &Options::default());
        a.limit_bytes = Some(advised);
        a.feasible = true;
        a.present = Some(Present {
            limit_bytes: present,
            measured: None,
            predicted: Some(Prediction {
                utilisation: Range::exact(utilisation),
                loss_rate: Range::exact(loss),
                delay_ms: Range::exact(delay_ms),
                delay_mean_ms: Range::exact(delay_ms / 2.0),
                formula: None,
            }),
        });
        a
    }

    fn worth(a: &Advice) -> bool {
        let targets = Targets {
            delay_ms: Some(50.0),
            ..Targets::default()
        };
        worth_changing(a, &targets, LEAST_CHANGE).worth
    }

    #[test]
    fn what_serves_is_left_alone() {
        assert!(!worth(&advice(1e5, 104_000, 0.9, 0.05, 10.0)), "too little");
        assert!(!worth(&advice(1e5, 150_000, 0.985, 0.009, 10.0)));
        assert!(!worth(&advice(1e5, 90_000, 0.99, 0.001, 10.0)));
        assert!(!worth(&advice(1e5, 85_000, 0.99, 0.001, 10.0)));
    }

    #[test]
    fn a_missed_target_or_a_large_gain_moves_it() {
        assert!(worth(&advice(1e5, 150_000, 0.95, 0.001, 10.0)));
        assert!(worth(&advice(1e5, 150_000, 0.99, 0.02, 10.0)));
        assert!(worth(&advice(1e5, 88_000, 0.99, 0.001, 80.0)));
        assert!(worth(&advice(1e5, 60_000, 0.99, 0.001, 10.0)));
        let mut a = advice(1e5, 60_000, 0.99, 0.001, 10.0);
        a.feasible = false;
        assert!(!worth(&a));
    }

    /// A limit within the dead band of the advice stayed, though the queue was longer
    /// than the bound on delay allows.
    #[test]
    fn a_missed_delay_ends_within_the_dead_band() {
        let near = |delay_ms| advice(1e5, 93_000, 0.99, 0.001, delay_ms);
        assert!(worth(&near(53.0)));
        assert!(!worth(&near(52.0)), "the slack of a bound");
        // What is expected counts one packet more than the limit.
        assert!(
            !worth(&advice(1e5, 97_000, 0.99, 0.001, 53.0)),
            "too little"
        );
        assert!(!worth(&advice(1e5, 107_000, 0.99, 0.001, 53.0)), "upwards");
        let targets = Targets {
            delay_ms: Some(50.0),
            ..Targets::default()
        };
        // On the way to a limit that failed, each step comes nearer by half: none of
        // them ends the miss.
        let part = |to| worth_a_step(&near(53.0), to, &targets, LEAST_CHANGE).worth;
        assert!(part(93_000) && !part(95_000));
        let far = advice(1e5, 40_000, 0.99, 0.001, 53.0);
        assert!(worth_a_step(&far, 80_000, &targets, LEAST_CHANGE).worth);
        let mut given_up = near(53.0);
        given_up.infeasible = Some(Infeasibility {
            given_up: vec![Goal::Delay],
            nearest: Nearest {
                utilisation: 0.99,
                loss_rate: 0.001,
                delay_ms: 49.0,
            },
        });
        assert!(!worth(&given_up));
    }

    #[test]
    fn what_was_measured_decides() {
        let mut a = advice(1e5, 150_000, 0.99, 0.001, 10.0);
        if let Some(p) = &mut a.present {
            p.measured = Some(Observed {
                utilisation: 0.94,
                loss_rate: 0.001,
                drops: 50,
                delay_mean_ms: 5.0,
                delay_p50_ms: 5.0,
                delay_p99_ms: 10.0,
                delay_max_ms: 10.0,
            });
        }
        assert!(worth(&a));
        // Without a flow that could fill it, the link is used as little as that.
        a.regime = Regime::Transparent;
        assert!(!worth(&a));
    }

    /// Advice that wavers by 15 % around a limit that serves moves nothing.
    #[test]
    fn no_oscillation() {
        let mut limit = 100_000.0;
        let mut changes = 0;
        for i in 0..100 {
            let advised = 100_000.0 * (1.0 + 0.15 * f64::sin(f64::from(i)));
            let a = advice(limit, advised as u64, 0.982, 0.0095, 30.0);
            if worth(&a) {
                limit = advised;
                changes += 1;
            }
        }
        assert_eq!(changes, 0);
    }

    #[test]
    fn nothing_known() {
        let mut a = advice(1e5, 150_000, 0.95, 0.001, 10.0);
        a.present = None;
        assert!(worth(&a));
        a.limit_bytes = None;
        assert!(!worth(&a));
    }
}
