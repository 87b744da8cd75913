// SPDX-License-Identifier: Apache-2.0
//! Limits for flows with few losses at the limit in force: by the worse end of
//! what to expect, and no more than serves already.

use super::bound::{Bound, UTILISATION_TOLERANCE};
use crate::extrapolation::{InFlightCap, LEAST_DROPS};
use crate::prediction::{losses_unobserved, smallest};
use crate::rule::{RuleId, Situation};
use crate::traffic::CongestionControl;

/// The smallest buffer that meets the target although all flows lose at once, or
/// the limit in force where that is smaller and meets it by measurement.
pub(super) fn for_utilisation(s: &Situation<'_>, reasons: &mut Vec<String>) -> Option<Bound> {
    let least = s.targets.utilisation - UTILISATION_TOLERANCE;
    let observed = s.traffic.observed?;
    let bytes = smallest(s.traffic, |p| p.utilisation.low >= least);
    let enough = s.traffic.limit_bytes;
    let enough = enough.filter(|_| observed.utilisation >= least);
    // Missed although few packets were lost: something else than losses keeps
    // the link from being full, and no model of losses says what would help.
    let bound = at_most(bytes, enough)?;
    reasons.push(format!(
        "utilisation: fewer than {LEAST_DROPS} drops at the limit in force ({}), so that it is not known how many flows lose together; {:.0} bytes ({:.0} packets) {}",
        observed.drops,
        bound.bytes,
        bound.bytes / s.traffic.segment_bytes,
        if bound.rule == RuleId::LimitInForce {
            "are in force and enough"
        } else {
            "are enough although all lose at once"
        }
    ));
    Some(bound)
}

/// The smallest buffer within the bound at the upper end of what to expect, or
/// the limit in force where that is smaller and within it by measurement.
pub(super) fn for_loss(s: &Situation<'_>, bound: f64, reasons: &mut Vec<String>) -> Option<Bound> {
    let observed = s.traffic.observed?;
    let bytes = smallest(s.traffic, |p| p.loss_rate.high <= bound);
    let enough = s.traffic.limit_bytes;
    let enough = enough.filter(|_| observed.loss_rate <= bound);
    let kept = at_most(bytes, enough)?;
    reasons.push(format!(
        "loss: fewer than {LEAST_DROPS} drops at the limit in force ({}); {:.0} bytes keep {:.2} % {}",
        observed.drops,
        kept.bytes,
        bound * 100.0,
        if kept.rule == RuleId::LimitInForce {
            "by measurement"
        } else {
            "at the upper end of what to expect (BSCL eq. 18)"
        }
    ));
    Some(kept)
}

/// Where utilisation is missed although few packets were lost, losses do not
/// explain it, so that no model of them can say that less would be enough: not
/// less than the limit in force.
pub(super) fn not_less_where_missed(
    bound: Bound,
    s: &Situation<'_>,
    reasons: &mut Vec<String>,
) -> Bound {
    let m = s.traffic;
    let least = s.targets.utilisation - UTILISATION_TOLERANCE;
    let missed = m.observed.is_some_and(|o| o.utilisation < least);
    let bbr = m.congestion_control == CongestionControl::Bbr;
    // Flows of BBR keep no more in flight than their cap, whatever the limit.
    let most = InFlightCap::of(m).map_or(f64::INFINITY, |cap| cap.bytes.high);
    let in_force = m.limit_bytes.map(|b| b.min(most));
    match in_force.filter(|&b| b > bound.bytes) {
        Some(bytes) if missed && (losses_unobserved(m) || bbr) => {
            reasons.push(format!(
                "utilisation is missed at the limit in force {}: something else than losses keeps the link from being full, and not less than {bytes:.0} bytes are asked for",
                if bbr {
                    "and its flows follow a model of the path (BBR)".to_owned()
                } else {
                    format!("although fewer than {LEAST_DROPS} drops were seen there")
                }
            ));
            Bound {
                bytes,
                rule: RuleId::LimitInForce,
            }
        }
        _ => bound,
    }
}

fn at_most(bytes: Option<f64>, enough: Option<f64>) -> Option<Bound> {
    let bound = |rule: RuleId| move |bytes| Bound { bytes, rule };
    let together = bytes.map(bound(RuleId::Synchronised));
    let present = enough.map(bound(RuleId::LimitInForce));
    match (together, present) {
        (Some(a), Some(b)) => Some(if b.bytes < a.bytes { b } else { a }),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests;
