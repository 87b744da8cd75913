// SPDX-License-Identifier: Apache-2.0
//! Sentences about the traffic, the expected effect of the limit, and targets that cannot all hold.

use crate::answer::Nearest;
use crate::models::Model;
use crate::prediction::Prediction;
use crate::search::Need;
use tidemark_rules::range::Range;
use tidemark_rules::rule::Situation;
use tidemark_rules::targets::Goal;
use tidemark_rules::traffic::{Regime, Traffic};

pub(crate) fn regime(m: &Traffic) -> String {
    let n = m.n_b;
    match m.regime {
        Regime::Transparent => format!(
            "transparent regime: no flow is bottlenecked here, load {:.0} % of capacity",
            m.rho * 100.0
        ),
        Regime::Elastic => format!(
            "elastic regime: N_b = {:.0} ({:.0} to {:.0}) bottlenecked here, using {:.0} % of the capacity",
            n.value,
            n.low,
            n.high,
            m.c_e_share.value * 100.0
        ),
        Regime::Overload => format!(
            "overload: load that does not react to this link is {:.0} % of capacity, or drops persist although windows are at their minimum; a buffer cannot cure it",
            m.rho_other * 100.0
        ),
        Regime::Unknown => "too little traffic was seen to determine the regime".into(),
    }
}

pub(crate) fn shared_port(m: &Traffic) -> String {
    if m.capacity_bps > 0.0 {
        format!(
            "the queue shares its port: the limit is for the {:.3} Mbit/s at which it was served while packets waited, and no longer fits if the load of the other queues changes",
            m.capacity_bps / 1e6
        )
    } else {
        "the queue shares its port, and the rate at which it is served is not known: packets waited too rarely".into()
    }
}

/// Describes the limit that a target needs.
pub(crate) fn need(goal: Goal, need: &Need, s: &Situation<'_>, by: &Model) -> String {
    let target = match goal {
        Goal::Utilisation => format!("{:.1} %", s.targets.utilisation * 100.0),
        _ => format!("{:.2} %", s.targets.loss_rate.unwrap_or(f64::NAN) * 100.0),
    };
    let (bytes, label) = (need.bytes, goal.label());
    let packets = bytes / s.traffic.segment_bytes;
    let sure = s.targets.confidence * 100.0;
    if need.sure && bytes <= s.smallest_limit_bytes() {
        return format!(
            "{label}: {target} is met at the smallest limit, by {}",
            by.name
        );
    }
    match need.likely_bytes {
        Some(likely) if need.sure => format!(
            "{label}: {target} is as likely met as not at {likely:.0} bytes, and with a confidence of {sure:.0} % from {bytes:.0} bytes ({packets:.0} packets) on, by {}",
            by.name
        ),
        Some(likely) => format!(
            "{label}: no limit is sure to meet {target} ({sure:.0} %); it is as likely met as not at {likely:.0} bytes, and beyond {bytes:.0} bytes more buffer is expected to gain less than is uncertain, by {}",
            by.name
        ),
        None => format!(
            "{label}: no limit is expected to meet {target}; {bytes:.0} bytes come nearest, by {}",
            by.name
        ),
    }
}

pub(crate) fn given_up(goals: &[Goal], s: &Situation<'_>, nearest: &Nearest) -> String {
    let names: Vec<&str> = goals.iter().map(|g| g.label()).collect();
    let near = goals.iter().map(|goal| match goal {
        Goal::Utilisation => format!(
            "utilisation {:.1} % instead of {:.1} %",
            nearest.utilisation * 100.0,
            s.targets.utilisation * 100.0
        ),
        Goal::Loss => format!(
            "loss {:.2} % instead of {:.2} %",
            nearest.loss_rate * 100.0,
            s.targets.loss_rate.unwrap_or(f64::NAN) * 100.0
        ),
        Goal::Delay => format!(
            "delay {:.1} ms instead of {:.1} ms",
            nearest.delay_ms,
            s.targets.delay_ms.unwrap_or(f64::NAN)
        ),
    });
    format!(
        "the targets cannot hold together: {} given up; nearest feasible: {}",
        names.join(" and "),
        near.collect::<Vec<_>>().join(", ")
    )
}

pub(crate) fn expected(bytes: f64, s: &Situation<'_>, p: &Prediction) -> String {
    let m = s.traffic;
    let target = s.targets.utilisation;
    format!(
        "advised limit {bytes:.0} bytes = {:.0} packets = {:.1} ms: utilisation {:.1} % ({:.1} to {:.1}), loss {:.3} % ({:.3} to {:.3}), delay up to {:.1} ms expected{}",
        bytes / m.segment_bytes,
        bytes / m.drain_bytes_per_s() * 1e3,
        p.utilisation.value * 100.0,
        p.utilisation.low * 100.0,
        p.utilisation.high * 100.0,
        p.loss_rate.value * 100.0,
        p.loss_rate.low * 100.0,
        p.loss_rate.high * 100.0,
        p.delay_ms.value,
        if may_be_missed(p.utilisation, target) {
            format!(
                "; the utilisation of {:.1} % that is asked for may be missed: the low end of its range is below it",
                target * 100.0
            )
        } else {
            String::new()
        }
    )
}

/// Shortfall of the utilisation that still meets the target.
const UTILISATION_TOLERANCE: f64 = 0.001;

/// Whether a target that is expected to be met lies above the low end of the range.
fn may_be_missed(utilisation: Range, target: f64) -> bool {
    let least = target - UTILISATION_TOLERANCE;
    utilisation.value >= least && utilisation.low < least
}

#[cfg(test)]
mod tests {
    use super::may_be_missed;
    use tidemark_rules::range::Range;

    #[test]
    fn a_range_below_the_target_says_so() {
        assert!(may_be_missed(Range::new(0.985, 0.95, 1.0), 0.98));
        assert!(!may_be_missed(Range::new(0.995, 0.985, 1.0), 0.98));
        // A certain miss is reported elsewhere.
        assert!(!may_be_missed(Range::new(0.9, 0.8, 0.95), 0.98));
    }
}
