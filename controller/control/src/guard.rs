// SPDX-License-Identifier: Apache-2.0
//! Guard rails: when a limit may not be changed, and to what.
//!
//! Range and step hold for values; frequency, staleness and report loss for the
//! evidence of an advice.

use crate::error::Refusal;
use crate::settings::Settings;
use tidemark_rules::Limit;

fn refuse(field: &'static str, message: String) -> Result<(), Refusal> {
    Err(Refusal::new(field, message))
}

/// Whether a value may be set at all; holds for operators too. Sizes in bytes.
///
/// # Errors
/// Outside of the configured range.
pub fn value(settings: &Settings, max_bytes: u64, bytes: u64) -> Result<(), Refusal> {
    if bytes < settings.min_limit_bytes {
        return refuse(
            "bytes",
            format!(
                "{bytes} is below control.min_limit_bytes, {}",
                settings.min_limit_bytes
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

/// Whether a limit may be set at all: every value of it in the range, and the
/// limit of `mark_ce` above its threshold.
///
/// # Errors
/// As [`value`], or two values that make no sense together.
pub fn limit(settings: &Settings, max_bytes: u64, limit: &Limit) -> Result<(), Refusal> {
    limit.check().or_else(|m| refuse("bytes", m))?;
    for bytes in values(limit) {
        value(settings, max_bytes, bytes)?;
    }
    Ok(())
}

/// Every value of a limit, bytes.
fn values(limit: &Limit) -> impl Iterator<Item = u64> {
    let refuses = limit
        .refuses_at_bytes()
        .filter(|&b| Some(b) != limit.bytes());
    limit.bytes().into_iter().chain(refuses)
}

/// How far the measurements that an advice rests on can be trusted.
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
pub fn evidence(settings: &Settings, e: &Evidence) -> Result<(), Refusal> {
    match e.age_s {
        None => refuse("telemetry", "no telemetry of this link yet".into())?,
        Some(age) if age > settings.max_telemetry_age_s => refuse(
            "telemetry",
            format!(
                "the newest telemetry is {age:.1} s old, more than control.max_telemetry_age_s, {}",
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
/// what refuses all, where both have it.
///
/// # Errors
/// As [`step`].
pub fn limit_step(settings: &Settings, before: &Limit, to: &Limit) -> Result<(), Refusal> {
    let pairs = [
        before.bytes().zip(to.bytes()),
        before.refuses_at_bytes().zip(to.refuses_at_bytes()),
    ];
    pairs
        .into_iter()
        .flatten()
        .try_for_each(|(from, to)| step(settings, from, to))
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

/// The value nearest to `bytes` in the configured range.
pub fn clamp_range(settings: &Settings, max_bytes: u64, bytes: u64) -> u64 {
    bytes.max(settings.min_limit_bytes).min(max_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_range() {
        let c = Settings::default();
        assert!(value(&c, 100_000, 100_000).is_ok());
        assert_eq!(value(&c, 100_000, 100_001).unwrap_err().field, "bytes");
        assert!(
            value(&c, 100_000, 10)
                .unwrap_err()
                .message
                .contains("min_limit")
        );
    }

    fn mark(threshold_bytes: u64, limit_bytes: u64) -> Limit {
        Limit::MarkCe {
            threshold_bytes,
            limit_bytes: Some(limit_bytes),
        }
    }

    #[test]
    fn both_values_are_in_the_range() {
        let c = Settings::default();
        let refused = |l: Limit| limit(&c, 100_000, &l).unwrap_err().message;
        assert!(limit(&c, 100_000, &mark(50_000, 100_000)).is_ok());
        assert!(limit(&c, 100_000, &Limit::Unlimited).is_ok());
        assert!(refused(mark(50_000, 100_001)).contains("100001 is above"));
        assert!(refused(mark(10, 100_000)).contains("10 is below"));
        assert!(refused(mark(60_000, 50_000)).contains("not above the threshold"));
    }

    #[test]
    fn both_values_move_by_one_step() {
        let c = Settings {
            max_step_factor: 2.0,
            ..Settings::default()
        };
        let before = mark(100, 150);
        assert!(limit_step(&c, &before, &mark(200, 300)).is_ok());
        assert!(limit_step(&c, &before, &mark(100, 301)).is_err());
        assert!(limit_step(&c, &before, &mark(49, 150)).is_err());
        let without = before.with_bytes(100, None);
        assert!(limit_step(&c, &without, &mark(100, 9_000)).is_ok());
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
