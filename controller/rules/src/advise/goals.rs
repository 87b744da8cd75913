// SPDX-License-Identifier: Apache-2.0
//! The bound each target puts on the limit, and the choice between them.

use super::smallest::smallest;
use super::{unseen, words};
use crate::measured::{Goal, Measured, Options, Regime, Targets};
use crate::predict::{losses_unseen, predict};
use crate::rule::Rule;

/// Short of the target by less than this still meets it.
pub(super) const UTILISATION_TOLERANCE: f64 = 0.001;

/// The limit one target asks for, and the rule that says so.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub bytes: f64,
    pub rule: String,
}

#[derive(Clone, Debug, Default)]
pub(super) struct AllWanted {
    /// At least this for utilisation.
    pub utilisation: Option<Wanted>,
    /// At least this for loss.
    pub loss: Option<Wanted>,
    /// At most this for delay.
    pub delay: Option<Wanted>,
    /// No buffer keeps the loss bound.
    pub loss_hopeless: bool,
}

pub(super) struct Choice {
    pub bytes: f64,
    pub rule: Option<String>,
    pub decided_by: Option<Goal>,
    pub given_up: Vec<Goal>,
    pub delay_kept: bool,
    pub reasons: Vec<String>,
}

pub(super) fn wanted(
    m: &Measured,
    targets: &Targets,
    options: &Options,
    rules: &[Rule],
    reasons: &mut Vec<String>,
) -> AllWanted {
    let mut all = AllWanted {
        utilisation: for_utilisation(m, targets, rules, reasons)
            .map(|w| unseen::not_less_where_missed(w, m, targets, reasons)),
        delay: rules
            .iter()
            .find(|r| r.id == "delay")
            .and_then(|r| r.buffer_bytes)
            .map(|bytes| Wanted {
                bytes,
                rule: "delay".into(),
            }),
        ..AllWanted::default()
    };
    if let Some(bound) = targets.loss_rate {
        match for_loss(m, bound, options, rules, reasons) {
            Some(w) => all.loss = Some(w),
            None => all.loss_hopeless = true,
        }
    }
    all
}

fn for_utilisation(
    m: &Measured,
    targets: &Targets,
    rules: &[Rule],
    reasons: &mut Vec<String>,
) -> Option<Wanted> {
    if m.regime == Regime::Transparent || m.saturable == Some(false) {
        reasons.push(format!(
            "utilisation equals the load ({:.0} %) whatever the buffer: no flow waits for this link",
            m.rho * 100.0
        ));
        return None;
    }
    if let Some((rule, bytes)) = applying(rules, "measured_utilisation") {
        reasons.push(format!(
            "utilisation: {} asks for {bytes:.0} bytes ({:.0} packets) for {:.1} %; {:.1} % was measured at {:.0} bytes",
            rule.name,
            bytes / m.segment_bytes,
            targets.utilisation * 100.0,
            m.observed.map_or(0.0, |o| o.utilisation) * 100.0,
            m.limit_bytes.unwrap_or(0.0)
        ));
        reasons.extend(words::not_bscl_utilisation(m, rules));
        return Some(Wanted {
            bytes,
            rule: rule.id.clone(),
        });
    }
    if losses_unseen(m)
        && let Some(wanted) = unseen::for_utilisation(m, targets, reasons)
    {
        return Some(wanted);
    }
    let mut candidates: Vec<(&Rule, f64)> = rules
        .iter()
        .filter(|r| r.applies && r.goals == [Goal::Utilisation])
        .filter_map(|r| r.buffer_bytes.map(|b| (r, b)))
        .collect();
    candidates.sort_by(|a, b| a.1.total_cmp(&b.1));
    for &(rule, bytes) in &candidates {
        let Ok(p) = predict(m, bytes) else { continue };
        let expected = p.utilisation.value;
        if expected + UTILISATION_TOLERANCE >= targets.utilisation {
            reasons.push(format!(
                "utilisation: {} asks for {:.0} bytes ({:.0} packets); expected utilisation {:.1} %",
                rule.name,
                bytes,
                bytes / m.segment_bytes,
                expected * 100.0
            ));
            return Some(Wanted {
                bytes,
                rule: rule.id.clone(),
            });
        }
        reasons.push(format!(
            "{} ({:.0} bytes) is passed over: the expected utilisation is {:.1} %, below {:.1} %",
            rule.name,
            bytes,
            expected * 100.0,
            targets.utilisation * 100.0
        ));
    }
    let bytes = m.drain_bytes_per_s() * m.t_mean_s.value;
    reasons.push(format!(
        "utilisation: no rule that applies is expected to reach {:.1} %; the rule of thumb C*T_mean, {bytes:.0} bytes, is taken",
        targets.utilisation * 100.0
    ));
    Some(Wanted {
        bytes,
        rule: "bdp".into(),
    })
}

fn applying<'a>(rules: &'a [Rule], id: &str) -> Option<(&'a Rule, f64)> {
    rules
        .iter()
        .find(|r| r.id == id && r.applies)
        .and_then(|r| r.buffer_bytes.map(|b| (r, b)))
}

fn for_loss(
    m: &Measured,
    bound: f64,
    options: &Options,
    rules: &[Rule],
    reasons: &mut Vec<String>,
) -> Option<Wanted> {
    if losses_unseen(m)
        && let Some(wanted) = unseen::for_loss(m, bound, reasons)
    {
        return Some(wanted);
    }
    // What was measured goes before what a formula expects.
    let measured = applying(rules, "measured_loss");
    let best = measured.or_else(|| {
        rules
            .iter()
            .filter(|r| r.applies && r.goals.contains(&Goal::Loss) && r.id != "bscl")
            .filter_map(|r| r.buffer_bytes.map(|b| (r, b)))
            .max_by(|a, b| a.1.total_cmp(&b.1))
    });
    if m.regime == Regime::Overload && m.rho_other >= 1.0 {
        reasons.push(format!(
            "loss: traffic that does not react to this link fills it ({:.0} % of capacity); no buffer keeps the loss bound",
            m.rho_other * 100.0
        ));
        return None;
    }
    if let Some((rule, bytes)) = best {
        reasons.push(if bytes > 0.0 {
            format!(
                "loss: {} asks for at least {:.0} bytes for {:.2} %{}",
                rule.name,
                bytes,
                bound * 100.0,
                if options.conservative { " (upper end of what is uncertain)" } else { "" }
            )
        } else {
            format!(
                "loss: {} asks for no buffer: the packets in flight on the path already keep loss below {:.2} %",
                rule.name,
                bound * 100.0
            )
        });
        if measured.is_some() {
            reasons.extend(words::not_bscl_loss(m, rules));
        }
        return Some(Wanted {
            bytes,
            rule: rule.id.clone(),
        });
    }
    let found = smallest_for_loss(m, bound);
    match found {
        Some(bytes) => {
            reasons.push(format!(
                "loss: no rule's conditions hold; outside them eq. 18 of BSCL asks for {bytes:.0} bytes"
            ));
            Some(Wanted {
                bytes,
                rule: "bscl_loss".into(),
            })
        }
        None => {
            reasons.push("loss: no buffer of a reasonable size keeps the bound".into());
            None
        }
    }
}

/// Smallest buffer whose expected loss rate is within `bound`, up to 100 times
/// C·T̄, or 2 s where that is less.
fn smallest_for_loss(m: &Measured, bound: f64) -> Option<f64> {
    smallest(m, |p| p.loss_rate.value <= bound * (1.0 + 1e-9))
}

/// Keeps the targets in the operator's order; one that contradicts those kept
/// is given up, and the limit goes as near to it as they allow.
pub(super) fn within(wanted: &AllWanted, targets: &Targets) -> Choice {
    let mut low: Option<(f64, String, Goal)> = None;
    let mut high: Option<(f64, String)> = None;
    let mut given_up = Vec::new();
    let mut reasons = Vec::new();
    let mut lower_given_up = false;
    for goal in targets.order() {
        let floor = match goal {
            Goal::Utilisation => &wanted.utilisation,
            Goal::Loss => &wanted.loss,
            Goal::Delay => {
                if let Some(w) = &wanted.delay {
                    match &low {
                        Some((l, _, by)) if *l > w.bytes => {
                            given_up.push(Goal::Delay);
                            reasons.push(format!(
                                "delay: the bound allows {:.0} bytes, less than {} needs; it is given up, having lower priority",
                                w.bytes, by.label()
                            ));
                        }
                        _ => {
                            reasons.push(format!("delay: the bound allows {:.0} bytes", w.bytes));
                            high = Some((w.bytes, w.rule.clone()));
                        }
                    }
                }
                continue;
            }
        };
        let Some(w) = floor else { continue };
        if high.as_ref().is_some_and(|h| w.bytes > h.0) {
            given_up.push(goal);
            lower_given_up = true;
            reasons.push(format!(
                "{}: {:.0} bytes are more than the delay bound allows; it is given up, having lower priority",
                goal.label(),
                w.bytes
            ));
        } else if low.as_ref().is_none_or(|l| w.bytes > l.0) {
            low = Some((w.bytes, w.rule.clone(), goal));
        }
    }
    let delay_kept = high.is_some();
    let (bytes, rule, decided_by) = match (low, high) {
        (_, Some((bytes, rule))) if lower_given_up => (bytes, Some(rule), Some(Goal::Delay)),
        (Some((bytes, rule, goal)), _) => (bytes, Some(rule), Some(goal)),
        (None, _) => (0.0, None, None),
    };
    Choice {
        bytes: bytes.max(0.0),
        rule,
        decided_by,
        given_up,
        delay_kept,
        reasons,
    }
}
