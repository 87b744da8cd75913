// SPDX-License-Identifier: Apache-2.0
//! Assumptions of rules about the traffic, and those that several rules share.

use super::result::Condition;
use super::situation::Situation;
use crate::traffic::Regime;

/// An assumption of a rule about the traffic.
#[derive(Debug)]
pub struct Assumption {
    /// The assumption in general terms, for documents.
    pub statement: &'static str,
    /// Checks the assumption against the measured traffic and the buffer that the rule yields
    /// (bytes; `None` if it yields none). Returns `None` if the assumption is not relevant.
    pub check: fn(&Situation<'_>, Option<f64>) -> Option<Condition>,
}

/// Flows are bottlenecked at this link.
pub static LBP_FLOWS: Assumption = Assumption {
    statement: "flows bottlenecked here",
    check: |s, _| {
        let (n_b, regime) = (s.n_b(), s.traffic.regime);
        Some(Condition::new(
            format!(
                "flows are bottlenecked at this link (N_b = {n_b:.1}, regime {})",
                regime.label()
            ),
            match regime {
                Regime::Unknown => None,
                _ => Some(n_b >= 1.0 && s.traffic.saturable != Some(false)),
            },
        ))
    },
};

/// LBP flows carry most of the capacity.
pub static LBP_SHARE: Assumption = Assumption {
    statement: "LBP share ≥ 0.8",
    check: |s, _| {
        let share = s.traffic.c_e_share;
        Some(Condition::new(
            format!(
                "LBP flows carry at least 80 % of the capacity ({:.0} %)",
                share.value * 100.0
            ),
            Some(share.high >= 0.8),
        ))
    },
};

/// The LBP flows reduce on loss.
pub static HEEDS_LOSS: Assumption = Assumption {
    statement: "windows reduced on loss (BBR below a tenth)",
    check: |s, _| {
        let share = s.traffic.model_based_share * 100.0;
        Some(Condition::new(
            format!(
                "windows are multiplied down on loss (BBR carries {share:.0} % of what LBP flows send)"
            ),
            s.traffic.heeds_loss(),
        ))
    },
};
