// SPDX-License-Identifier: Apache-2.0
//! The verdict on a trial: compares the measurement after a change with the one before it.

use tidemark_rules::{Goal, Observed, Targets};

/// Relative difference that counts as noise.
pub const SLACK: f64 = 0.1;

/// Returns the goals that are worse than their bounds *and* than before, with reasons; goals that
/// were given up are not judged. `slack` is the relative difference that counts as noise; for
/// utilisation, of the idle share.
pub fn worse(
    targets: &Targets,
    given_up: &[Goal],
    before: &Observed,
    after: &Observed,
    slack: f64,
) -> Vec<(Goal, String)> {
    let mut out = Vec::new();
    let judged = |g: Goal| !given_up.contains(&g);
    if judged(Goal::Utilisation)
        && after.utilisation < targets.utilisation - slack * (1.0 - targets.utilisation)
        && after.utilisation < before.utilisation - slack * (1.0 - before.utilisation).max(0.02)
    {
        out.push((
            Goal::Utilisation,
            format!(
                "utilisation {:.1} %: below {:.1} % and below {:.1} % before",
                after.utilisation * 100.0,
                targets.utilisation * 100.0,
                before.utilisation * 100.0
            ),
        ));
    }
    if let Some(bound) = targets.loss_rate.filter(|_| judged(Goal::Loss))
        && after.loss_rate > bound * (1.0 + slack)
        && after.loss_rate > before.loss_rate * (1.0 + slack)
    {
        out.push((
            Goal::Loss,
            format!(
                "loss {:.3} %: above {:.3} % and above {:.3} % before",
                after.loss_rate * 100.0,
                bound * 100.0,
                before.loss_rate * 100.0
            ),
        ));
    }
    if let Some(bound) = targets.delay_ms.filter(|_| judged(Goal::Delay))
        && after.delay_p99_ms > bound * (1.0 + slack)
        && after.delay_p99_ms > before.delay_p99_ms * (1.0 + slack)
    {
        out.push((
            Goal::Delay,
            format!(
                "delay {:.1} ms (99th percentile): above {bound:.1} ms and above {:.1} ms before",
                after.delay_p99_ms, before.delay_p99_ms
            ),
        ));
    }
    out
}

/// Returns whether a worse outcome rolls a change back. It does not if the change meets a target of
/// higher priority that was missed before.
pub fn requires_rollback(
    targets: &Targets,
    worse: &[(Goal, String)],
    before: &Observed,
    after: &Observed,
) -> bool {
    let rank = |g: Goal| {
        let place = targets.priority.iter().position(|&p| p == g);
        place.unwrap_or(targets.priority.len())
    };
    let met = |o: &Observed, g: Goal| match g {
        Goal::Utilisation => o.utilisation >= targets.utilisation,
        Goal::Loss => targets.loss_rate.is_none_or(|p| o.loss_rate <= p),
        Goal::Delay => targets.delay_ms.is_none_or(|d| o.delay_p99_ms <= d),
    };
    let goals = [Goal::Utilisation, Goal::Loss, Goal::Delay];
    let gained = goals
        .into_iter()
        .filter(|&g| !met(before, g) && met(after, g))
        .map(rank)
        .min();
    let lost = worse.iter().map(|w| rank(w.0)).min();
    match (lost, gained) {
        (None, _) => false,
        (Some(lost), Some(gained)) => lost <= gained,
        (Some(_), None) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(utilisation: f64, loss_rate: f64, delay_p99_ms: f64) -> Observed {
        Observed {
            utilisation,
            loss_rate,
            drops: 10,
            delay_mean_ms: 1.0,
            delay_p50_ms: 1.0,
            delay_p99_ms,
            delay_max_ms: delay_p99_ms,
        }
    }

    #[test]
    fn worse_needs_both_bound_and_before() {
        let t = Targets {
            utilisation: 0.98,
            loss_rate: Some(0.01),
            delay_ms: Some(30.0),
            priority: vec![],
            ..Targets::default()
        };
        let before = observed(0.99, 0.005, 25.0);
        let judge =
            |after: Observed, given_up: &[Goal]| worse(&t, given_up, &before, &after, 0.1).len();
        assert_eq!(judge(observed(0.99, 0.005, 25.0), &[]), 0);
        // Worse than before, but within the bound, or beyond it only by noise.
        assert_eq!(judge(observed(0.979, 0.0105, 31.0), &[]), 0);
        assert_eq!(judge(observed(0.985, 0.009, 29.0), &[]), 0);
        assert_eq!(judge(observed(0.90, 0.02, 40.0), &[]), 3);
        assert_eq!(
            judge(observed(0.90, 0.02, 40.0), &[Goal::Delay, Goal::Loss]),
            1
        );
        // Beyond the bound, but so it was before.
        let bad = observed(0.80, 0.03, 60.0);
        assert!(worse(&t, &[], &bad, &observed(0.85, 0.025, 50.0), 0.1).is_empty());
    }

    #[test]
    fn what_comes_first_decides_whether_to_roll_back() {
        let mut t = Targets {
            utilisation: 0.98,
            loss_rate: None,
            delay_ms: Some(30.0),
            priority: vec![Goal::Delay, Goal::Utilisation],
            ..Targets::default()
        };
        // The delay bound was missed before, and is now met at the cost of utilisation.
        let before = observed(1.0, 0.0, 70.0);
        let after = observed(0.95, 0.0, 10.0);
        let lost = worse(&t, &[], &before, &after, 0.1);
        assert_eq!(lost.len(), 1);
        assert!(!requires_rollback(&t, &lost, &before, &after));
        t.priority.reverse();
        assert!(requires_rollback(&t, &lost, &before, &after));
        assert!(!requires_rollback(&t, &[], &before, &after));
        let before = observed(1.0, 0.0, 20.0);
        assert!(requires_rollback(&t, &lost, &before, &after));
    }
}
