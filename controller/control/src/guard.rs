// SPDX-License-Identifier: Apache-2.0
//! Guard rails: when a limit may not be changed, and how far. What it may be at
//! all is [`crate::Range`].
//!
//! The step holds for values; frequency, staleness and report loss for the
//! evidence of an advice.

use crate::error::Refusal;
use crate::range::Range;
use crate::settings::Settings;
use tidemark_rules::Limit;

fn refuse(field: &'static str, message: String) -> Result<(), Refusal> {
    Err(Refusal::new(field, message))
}

/// How far the measurements that an advice rests on can be trusted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// Age of the newest report of the link, s; `None` when there is none.
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
pub fn evidence(settings: &Settings, e: &Evidence) -> Result<(), Refusal> {
    match e.age_s {
        None => refuse("telemetry", "no report of this link yet".into())?,
        Some(age) if age > settings.max_telemetry_age_s => refuse(
            "telemetry",
            format!(
                "the newest report of this link is {age:.1} s old, more than control.max_telemetry_age_s, {}",
                settings.max_telemetry_age_s
            ),
        )?,
        Some(_) => {}
    }
    if e.report_loss > settings.max_report_loss {
        refuse(
            "telemetry",
            format!(
                "{:.2} % of the reports of the window were lost, more than control.max_report_loss, {:.2} %",
                e.report_loss * 100.0,
                settings.max_report_loss * 100.0
            ),
        )?;
    }
    match e.since_change_s {
        Some(s) if s < settings.min_change_interval_s => refuse(
            "interval",
            format!(
                "the limit was changed {s:.1} s ago; control.min_change_interval_s is {}",
                settings.min_change_interval_s
            ),
        ),
        _ => Ok(()),
    }
}

/// Whether one change may go from `before` to `bytes`.
///
/// # Errors
/// More than `control.max_step_factor` up or down.
pub fn step(settings: &Settings, before: u64, bytes: u64) -> Result<(), Refusal> {
    let clamped = clamp_step(settings, before, bytes);
    if clamped == bytes {
        return Ok(());
    }
    refuse(
        "bytes",
        format!(
            "from {before} to {bytes} is more than a factor of control.max_step_factor, {}; {clamped} would be allowed",
            settings.max_step_factor
        ),
    )
}

/// Whether one change may go from one limit to another: what acts first, and
/// what refuses all, where both have it. From outside of the range the step is
/// measured from its nearest end: the way into it is never too far.
///
/// # Errors
/// As [`step`].
pub fn limit_step(
    settings: &Settings,
    range: &Range,
    before: &Limit,
    to: &Limit,
) -> Result<(), Refusal> {
    let pairs = [
        before.bytes().zip(to.bytes()),
        before.refuses_at_bytes().zip(to.refuses_at_bytes()),
    ];
    pairs
        .into_iter()
        .flatten()
        .try_for_each(|(from, to)| step(settings, range.nearest(from), to))
}

/// The value nearest to `bytes` that one step allows.
pub fn clamp_step(settings: &Settings, before: u64, bytes: u64) -> u64 {
    if before == 0 {
        return bytes;
    }
    let low = (before as f64 / settings.max_step_factor).ceil() as u64;
    let high = (before as f64 * settings.max_step_factor).floor() as u64;
    bytes.clamp(low.min(high), high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(threshold_bytes: u64, limit_bytes: u64) -> Limit {
        Limit::MarkCe {
            threshold_bytes,
            limit_bytes: Some(limit_bytes),
        }
    }

    #[test]
    fn both_values_move_by_one_step() {
        let c = Settings {
            max_step_factor: 2.0,
            ..Settings::default()
        };
        let range = Range {
            min_bytes: 10,
            max_bytes: 10_000,
            unit_bytes: 1,
        };
        let step = |before: Limit, to| limit_step(&c, &range, &before, &to);
        let before = mark(100, 150);
        assert!(step(before, mark(200, 300)).is_ok());
        assert!(step(before, mark(100, 301)).is_err());
        assert!(step(before, mark(49, 150)).is_err());
        assert!(step(before.with_bytes(100, None), mark(100, 9_000)).is_ok());
        // Found outside of the range.
        assert!(step(mark(1, 900_000), mark(20, 5_000)).is_ok());
        assert!(step(mark(1, 900_000), mark(21, 5_000)).is_err());
        assert!(step(mark(1, 900_000), mark(20, 4_999)).is_err());
    }

    #[test]
    fn evidence_must_be_fresh_and_complete() {
        let c = Settings::default();
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
        let c = Settings {
            max_step_factor: 2.0,
            ..Settings::default()
        };
        assert!(step(&c, 100, 200).is_ok());
        assert!(step(&c, 100, 50).is_ok());
        assert!(step(&c, 100, 201).unwrap_err().message.contains("200"));
        assert_eq!(clamp_step(&c, 100, 10), 50);
        assert_eq!(clamp_step(&c, 0, 10), 10);
    }
}
