// SPDX-License-Identifier: Apache-2.0
//! Guard rails: when a limit may be changed, and how far. [`crate::Range`] has the values that are
//! allowed at all.
//!
//! The step limit applies to any value; frequency, staleness and report loss apply to the basis of
//! an advice.

use crate::error::Refusal;
use crate::range::Range;
use crate::settings::Settings;
use tidemark_rules::Limit;

fn refuse(field: &'static str, message: String) -> Result<(), Refusal> {
    Err(Refusal::new(field, message))
}

/// Quality of the measurements that an advice is based on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Basis {
    /// Packets in the window.
    pub arrivals: u64,
    /// Loss events in the window.
    pub loss_events: u64,
    /// Whether the advice is above the limit in force.
    pub raises: bool,
    /// Whether the whole window lies after the last change of limit or traffic, with enough advice
    /// since.
    pub settled: bool,
    /// How delay and occupancy contradict each other, if they do.
    pub contradiction: Option<String>,
    /// Age of the newest report of the link, s; `None` without reports.
    pub age_s: Option<f64>,
    /// Fraction of the window's reports that were lost.
    pub report_loss: f64,
    /// Fraction of the window's time without records.
    pub unrecorded: f64,
    /// Time since the last change of the limit, s.
    pub since_change_s: Option<f64>,
}

/// Checks whether advice may be acted on now.
///
/// # Errors
/// Stale telemetry, lost reports, too few packets or losses, traffic that has just changed,
/// contradictory measurements, or a recent change of the limit.
pub fn basis(settings: &Settings, b: &Basis) -> Result<(), Refusal> {
    match b.age_s {
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
    if b.report_loss > settings.max_report_loss {
        refuse(
            "telemetry",
            format!(
                "{:.2} % of the reports of the window were lost, more than control.max_report_loss, {:.2} %",
                b.report_loss * 100.0,
                settings.max_report_loss * 100.0
            ),
        )?;
    }
    if b.unrecorded > settings.max_report_loss {
        refuse(
            "telemetry",
            format!(
                "the collector sent no record for {:.2} % of the window, more than control.max_report_loss, {:.2} %",
                b.unrecorded * 100.0,
                settings.max_report_loss * 100.0
            ),
        )?;
    }
    if let Some(s) = b
        .since_change_s
        .filter(|&s| s < settings.min_change_interval_s)
    {
        refuse(
            "interval",
            format!(
                "the limit was changed {s:.1} s ago; control.min_change_interval_s is {}",
                settings.min_change_interval_s
            ),
        )?;
    }
    sample(settings, b)
}

/// Checks whether the window has enough consistent data of unchanged traffic.
fn sample(settings: &Settings, b: &Basis) -> Result<(), Refusal> {
    if let Some(why) = &b.contradiction {
        refuse("telemetry", why.clone())?;
    }
    if b.arrivals < settings.min_arrivals {
        refuse(
            "telemetry",
            format!(
                "{} packets in the window are fewer than control.min_arrivals, {}",
                b.arrivals, settings.min_arrivals
            ),
        )?;
    }
    // A limit that hardly any packet reached is not too small.
    if b.raises && b.loss_events < settings.min_loss_events {
        refuse(
            "telemetry",
            format!(
                "{} loss events in the window are fewer than control.min_loss_events, {}, which a larger limit needs",
                b.loss_events, settings.min_loss_events
            ),
        )?;
    }
    if !b.settled {
        refuse(
            "advice",
            "limit or traffic changed a moment ago: too few measurements since then".into(),
        )?;
    }
    Ok(())
}

/// Checks whether one change may go from `before` to `bytes`.
///
/// # Errors
/// A factor of more than `control.max_step_factor` up or down.
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

/// Checks whether one change may go from one limit to another: the value that acts first, and the
/// limit that drops all packets if both have one. From outside the range the step counts from its
/// nearest end: the way into the range is never too far.
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

/// Returns the value nearest to `bytes` that one step allows.
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
        // The limit found is outside the range.
        assert!(step(mark(1, 900_000), mark(20, 5_000)).is_ok());
        assert!(step(mark(1, 900_000), mark(21, 5_000)).is_err());
        assert!(step(mark(1, 900_000), mark(20, 4_999)).is_err());
    }

    #[test]
    fn the_basis_must_be_fresh_and_complete() {
        let c = Settings::default();
        let good = Basis {
            age_s: Some(0.1),
            arrivals: 1_000,
            settled: true,
            ..Basis::default()
        };
        assert!(basis(&c, &good).is_ok());
        let field = |b: Basis| basis(&c, &b).unwrap_err().field;
        assert_eq!(
            field(Basis {
                age_s: None,
                ..good.clone()
            }),
            "telemetry"
        );
        assert_eq!(
            field(Basis {
                age_s: Some(9.0),
                ..good.clone()
            }),
            "telemetry"
        );
        assert_eq!(
            field(Basis {
                report_loss: 0.02,
                ..good.clone()
            }),
            "telemetry"
        );
        assert_eq!(
            field(Basis {
                unrecorded: 0.02,
                ..good.clone()
            }),
            "telemetry"
        );
        let soon = Basis {
            since_change_s: Some(1.0),
            ..good.clone()
        };
        assert_eq!(field(soon), "interval");
        let says = |b: Basis| basis(&c, &b).unwrap_err().message;
        let few = Basis {
            arrivals: 435,
            ..good.clone()
        };
        assert!(says(few).contains("min_arrivals"));
        let mut raises = Basis {
            raises: true,
            ..good.clone()
        };
        assert!(says(raises.clone()).contains("min_loss_events"));
        raises.loss_events = 1;
        assert!(basis(&c, &raises).is_ok());
        let changed = Basis {
            settled: false,
            ..good.clone()
        };
        assert!(says(changed).contains("a moment ago"));
        let starved = Basis {
            contradiction: Some("delay_above_limit".into()),
            ..good
        };
        assert_eq!(says(starved), "delay_above_limit");
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
