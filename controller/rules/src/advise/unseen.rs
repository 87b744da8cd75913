// SPDX-License-Identifier: Apache-2.0
//! Limits for flows that hardly lost at the limit in force: by the worse end of
//! what to expect, and no more than serves already.

use super::goals::{UTILISATION_TOLERANCE, Wanted};
use super::smallest::smallest;
use crate::measured::{CongestionControl, Measured, Targets};
use crate::observed::LEAST_DROPS;
use crate::predict::losses_unseen;

/// The rule's id: all flows lose at once (BSCL eq. 14 and 16 with q = 1).
const TOGETHER: &str = "synchronised";
const PRESENT: &str = "limit_in_force";

/// The smallest buffer that meets the target although all flows lose at once, or
/// the limit in force where that is smaller and meets it by measurement.
pub(super) fn for_utilisation(
    m: &Measured,
    targets: &Targets,
    reasons: &mut Vec<String>,
) -> Option<Wanted> {
    let least = targets.utilisation - UTILISATION_TOLERANCE;
    let observed = m.observed?;
    let bytes = smallest(m, |p| p.utilisation.low >= least);
    let enough = m.limit_bytes.filter(|_| observed.utilisation >= least);
    // Missed although hardly anything was lost: something else than losses keeps
    // the link from being full, and no model of losses says what would help.
    let wanted = at_most(bytes, enough)?;
    reasons.push(format!(
        "utilisation: fewer than {LEAST_DROPS} drops at the limit in force ({}), so that it is not known how many flows lose together; {:.0} bytes ({:.0} packets) {}",
        observed.drops,
        wanted.bytes,
        wanted.bytes / m.segment_bytes,
        if wanted.rule == PRESENT {
            "are in force and enough"
        } else {
            "are enough although all lose at once"
        }
    ));
    Some(wanted)
}

/// The smallest buffer within the bound at the upper end of what to expect, or
/// the limit in force where that is smaller and within it by measurement.
pub(super) fn for_loss(m: &Measured, bound: f64, reasons: &mut Vec<String>) -> Option<Wanted> {
    let observed = m.observed?;
    let bytes = smallest(m, |p| p.loss_rate.high <= bound);
    let enough = m.limit_bytes.filter(|_| observed.loss_rate <= bound);
    let wanted = at_most(bytes, enough)?;
    reasons.push(format!(
        "loss: fewer than {LEAST_DROPS} drops at the limit in force ({}); {:.0} bytes keep {:.2} % {}",
        observed.drops,
        wanted.bytes,
        bound * 100.0,
        if wanted.rule == PRESENT {
            "by measurement"
        } else {
            "at the upper end of what to expect (BSCL eq. 18)"
        }
    ));
    Some(wanted)
}

/// Where utilisation is missed although hardly anything was lost, losses do not
/// explain it, so that no model of them can say that less would be enough: not
/// less than the limit in force.
pub(super) fn not_less_where_missed(
    wanted: Wanted,
    m: &Measured,
    targets: &Targets,
    reasons: &mut Vec<String>,
) -> Wanted {
    let missed = m
        .observed
        .is_some_and(|o| o.utilisation < targets.utilisation - UTILISATION_TOLERANCE);
    let bbr = m.congestion_control == CongestionControl::Bbr;
    let present = m.limit_bytes.filter(|&b| b > wanted.bytes);
    match present {
        Some(bytes) if missed && (losses_unseen(m) || bbr) => {
            let although = if bbr {
                "and its flows follow a model of the path (BBR)".to_owned()
            } else {
                format!("although fewer than {LEAST_DROPS} drops were seen there")
            };
            reasons.push(format!(
                "utilisation is missed at the limit in force {although}: something else than losses keeps the link from being full, and not less than {bytes:.0} bytes are asked for"
            ));
            Wanted {
                bytes,
                rule: PRESENT.into(),
            }
        }
        _ => wanted,
    }
}

fn at_most(bytes: Option<f64>, enough: Option<f64>) -> Option<Wanted> {
    let together = bytes.map(|bytes| (bytes, TOGETHER));
    let present = enough.map(|bytes| (bytes, PRESENT));
    let (bytes, rule) = match (together, present) {
        (Some(a), Some(b)) => Some(if b.0 < a.0 { b } else { a }),
        (a, b) => a.or(b),
    }?;
    Some(Wanted {
        bytes,
        rule: rule.into(),
    })
}

#[cfg(test)]
mod tests;
