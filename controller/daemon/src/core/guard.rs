// SPDX-License-Identifier: Apache-2.0
//! Guard rails: when a limit may not be changed, and to what.

use crate::config::Control;
use tidemark_rules::{Goal, Observed, Targets};

/// What a guard rail says, with the field of the request or config behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub field: &'static str,
    pub message: String,
}

fn refuse(field: &'static str, message: String) -> Result<(), Refusal> {
    Err(Refusal { field, message })
}

/// Whether a value may be set at all; holds for operators too.
///
/// # Errors
/// Outside of the configured range.
pub fn value(control: &Control, max_bytes: u64, bytes: u64) -> Result<(), Refusal> {
    if bytes < control.min_limit_bytes {
        return refuse(
            "bytes",
            format!(
                "{bytes} is below control.min_limit_bytes, {}",
                control.min_limit_bytes
            ),
        );
    }
    if bytes > max_bytes {
        return refuse(
            "bytes",
            format!("{bytes} is above max_limit_bytes, {max_bytes}"),
        );
    }
    Ok(())
}

/// How far the measurements behind an advice can be trusted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// Age of the newest telemetry, s; `None` when there is none.
    pub age_s: Option<f64>,
    /// Fraction of the reports of the window that were lost.
    pub report_loss: f64,
    /// Time since the last change of the limit, s.
    pub since_change_s: Option<f64>,
}

/// Whether advice may be acted on now.
///
/// # Errors
/// Stale telemetry, lost reports, or too soon after the last change.
pub fn evidence(control: &Control, e: &Evidence) -> Result<(), Refusal> {
    match e.age_s {
        None => refuse("telemetry", "no telemetry of this link yet".into())?,
        Some(age) if age > control.max_telemetry_age_s => refuse(
            "telemetry",
            format!(
                "the newest telemetry is {age:.1} s old, more than control.max_telemetry_age_s, {}",
                control.max_telemetry_age_s
            ),
        )?,
        Some(_) => {}
    }
    if e.report_loss > control.max_report_loss {
        refuse(
            "telemetry",
            format!(
                "{:.2} % of the reports of the window were lost, more than control.max_report_loss, {:.2} %",
                e.report_loss * 100.0,
                control.max_report_loss * 100.0
            ),
        )?;
    }
    match e.since_change_s {
        Some(s) if s < control.min_change_interval_s => refuse(
            "interval",
            format!(
                "the limit was changed {s:.1} s ago; control.min_change_interval_s is {}",
                control.min_change_interval_s
            ),
        ),
        _ => Ok(()),
    }
}

/// Whether one change may go from `before` to `bytes`.
///
/// # Errors
/// More than `control.max_step_factor` up or down.
pub fn step(control: &Control, before: u64, bytes: u64) -> Result<(), Refusal> {
    let clamped = clamp_step(control, before, bytes);
    if clamped == bytes {
        return Ok(());
    }
    refuse(
        "bytes",
        format!(
            "from {before} to {bytes} is more than a factor of control.max_step_factor, {}; {clamped} would be allowed",
            control.max_step_factor
        ),
    )
}

/// The nearest value to `bytes` that one step allows.
pub fn clamp_step(control: &Control, before: u64, bytes: u64) -> u64 {
    if before == 0 {
        return bytes;
    }
    let low = (before as f64 / control.max_step_factor).ceil() as u64;
    let high = (before as f64 * control.max_step_factor).floor() as u64;
    bytes.clamp(low.min(high), high)
}

/// What got worse than its bound *and* than before; goals given up are not
/// judged. `slack` is the relative difference that is taken for noise, of the
/// idle share for utilisation.
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
    if let Some(bound) = targets.loss_rate.filter(|_| judged(Goal::Loss)) {
        if after.loss_rate > bound * (1.0 + slack)
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
    }
    if let Some(bound) = targets.delay_ms.filter(|_| judged(Goal::Delay)) {
        if after.delay_p99_ms > bound * (1.0 + slack)
            && after.delay_p99_ms > before.delay_p99_ms * (1.0 + slack)
        {
            out.push((Goal::Delay, format!(
                "delay {:.1} ms (99th percentile): above {bound:.1} ms and above {:.1} ms before",
                after.delay_p99_ms, before.delay_p99_ms
            )));
        }
    }
    out
}

/// Whether what got worse takes a change back: not where the change has met a
/// target that was missed before and comes first in the operator's priority.
pub fn takes_back(
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
    fn value_range() {
        let c = Control::default();
        assert!(value(&c, 100_000, 100_000).is_ok());
        assert_eq!(value(&c, 100_000, 100_001).unwrap_err().field, "bytes");
        assert!(
            value(&c, 100_000, 10)
                .unwrap_err()
                .message
                .contains("min_limit")
        );
    }

    #[test]
    fn evidence_must_be_fresh_and_complete() {
        let c = Control::default();
        let good = Evidence {
            age_s: Some(0.1),
            report_loss: 0.0,
            since_change_s: None,
        };
        assert!(evidence(&c, &good).is_ok());
        let field = |e: Evidence| evidence(&c, &e).unwrap_err().field;
        assert_eq!(
            field(Evidence {
                age_s: None,
                ..good
            }),
            "telemetry"
        );
        assert_eq!(
            field(Evidence {
                age_s: Some(9.0),
                ..good
            }),
            "telemetry"
        );
        assert_eq!(
            field(Evidence {
                report_loss: 0.02,
                ..good
            }),
            "telemetry"
        );
        let soon = Evidence {
            since_change_s: Some(1.0),
            ..good
        };
        assert_eq!(field(soon), "interval");
    }

    #[test]
    fn one_step() {
        let c = Control {
            max_step_factor: 2.0,
            ..Control::default()
        };
        assert!(step(&c, 100, 200).is_ok());
        assert!(step(&c, 100, 50).is_ok());
        assert!(step(&c, 100, 201).unwrap_err().message.contains("200"));
        assert_eq!(clamp_step(&c, 100, 10), 50);
        assert_eq!(clamp_step(&c, 0, 10), 10);
    }

    #[test]
    fn worse_needs_both_bound_and_before() {
        let t = Targets {
            utilisation: 0.98,
            loss_rate: Some(0.01),
            delay_ms: Some(30.0),
            priority: vec![],
        };
        let before = observed(0.99, 0.005, 25.0);
        let judge =
            |after: Observed, given_up: &[Goal]| worse(&t, given_up, &before, &after, 0.1).len();
        assert_eq!(judge(observed(0.99, 0.005, 25.0), &[]), 0);
        // Worse than before, but within the bound, or beyond it by noise.
        assert_eq!(judge(observed(0.979, 0.0105, 31.0), &[]), 0);
        assert_eq!(judge(observed(0.985, 0.009, 29.0), &[]), 0);
        assert_eq!(judge(observed(0.90, 0.02, 40.0), &[]), 3);
        assert_eq!(
            judge(observed(0.90, 0.02, 40.0), &[Goal::Delay, Goal::Loss]),
            1
        );
        // Beyond the bound, but it was before as well.
        let bad = observed(0.80, 0.03, 60.0);
        assert!(worse(&t, &[], &bad, &observed(0.85, 0.025, 50.0), 0.1).is_empty());
    }

    #[test]
    fn what_comes_first_decides_whether_to_go_back() {
        let mut t = Targets {
            utilisation: 0.98,
            loss_rate: None,
            delay_ms: Some(30.0),
            priority: vec![Goal::Delay, Goal::Utilisation],
        };
        // The delay bound was missed, and is met at the cost of utilisation.
        let before = observed(1.0, 0.0, 70.0);
        let after = observed(0.95, 0.0, 10.0);
        let lost = worse(&t, &[], &before, &after, 0.1);
        assert_eq!(lost.len(), 1);
        assert!(!takes_back(&t, &lost, &before, &after));
        t.priority.reverse();
        assert!(takes_back(&t, &lost, &before, &after));
        assert!(!takes_back(&t, &[], &before, &after));
        let before = observed(1.0, 0.0, 20.0);
        assert!(takes_back(&t, &lost, &before, &after));
    }
}
