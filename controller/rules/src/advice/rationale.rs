// SPDX-License-Identifier: Apache-2.0
//! Sentences on the traffic, and on targets that cannot hold together.

use super::answer::Nearest;
use crate::rule::Situation;
use crate::targets::Goal;
use crate::traffic::{Regime, Traffic};

pub(super) fn regime(m: &Traffic) -> String {
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
        Regime::Unknown => "too little traffic was seen to name the regime".into(),
    }
}

pub(super) fn given_up(goals: &[Goal], s: &Situation<'_>, nearest: &Nearest) -> String {
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
