// SPDX-License-Identifier: Apache-2.0
//! When a measurement may be carried over to another limit.

use super::uncertainty::loss_rate_without_model_based;
use crate::rule::{Assumption, Condition};
use crate::traffic::{Regime, Traffic};

/// Drops needed before the measured loss rate is scaled, and before the limit
/// counts as what the windows run against.
pub const LEAST_DROPS: u64 = 20;
/// Arrivals needed before their occupancy counts as a distribution.
const LEAST_ARRIVALS: u64 = 2_000;
/// Share of the capacity that LBP flows must carry.
const LEAST_SHARE: f64 = 0.5;
/// Loss rate above which timeouts, not decreases, set the windows.
const LARGEST_LOSS: f64 = 0.1;

/// LBP flows fill the link.
pub(super) static LBP_FILL: Assumption = Assumption {
    statement: "LBP flows fill the link with a share ≥ 0.5",
    check: |s, _| Some(lbp_fill(s.traffic)),
};

/// Not all flows follow a model of the path.
pub(super) static NOT_ALL_BBR: Assumption = Assumption {
    statement: "not all BBR",
    check: |s, _| Some(not_all_bbr(s.traffic)),
};

/// There were drops to scale.
pub(super) static ENOUGH_DROPS: Assumption = Assumption {
    statement: "at least 20 drops",
    check: |s, _| Some(enough_drops(s.traffic)),
};

/// Decreases, not timeouts, set the windows.
pub(super) static LOW_LOSS: Assumption = Assumption {
    statement: "loss < 10 %",
    check: |s, _| low_loss(s.traffic),
};

/// The distribution of the occupancy is known.
pub(super) static ENOUGH_ARRIVALS: Assumption = Assumption {
    statement: "occupancy known",
    check: |s, _| Some(enough_arrivals(s.traffic)),
};

/// Whether what both scalings assume holds, as far as is known.
pub(super) fn scalable(m: &Traffic) -> bool {
    let all = [lbp_fill(m), not_all_bbr(m), enough_drops(m)];
    all.iter().chain(&low_loss(m)).all(may_hold)
}

/// Whether what the scaling of windows assumes in addition holds.
pub(super) fn occupancy_known(m: &Traffic) -> bool {
    may_hold(&enough_arrivals(m))
}

fn may_hold(condition: &Condition) -> bool {
    condition.holds != Some(false)
}

fn lbp_fill(m: &Traffic) -> Condition {
    let text = format!(
        "LBP flows carry at least 50 % of the capacity and fill it ({:.0} %, elastic regime)",
        m.c_e_share.value * 100.0
    );
    let fill = m.n_b.value >= 1.0 && m.saturable != Some(false) && m.c_e_share.value >= LEAST_SHARE;
    Condition::new(
        text,
        match m.regime {
            Regime::Unknown => None,
            regime => Some(regime == Regime::Elastic && fill),
        },
    )
}

fn not_all_bbr(m: &Traffic) -> Condition {
    Condition::new(
        "not all flows follow a model of the path (BBR)",
        m.all_model_based().map(|all| !all),
    )
}

fn enough_drops(m: &Traffic) -> Condition {
    let drops = m.observed.map_or(0, |o| o.drops);
    Condition::new(
        format!("at least {LEAST_DROPS} drops at the limit in force ({drops})"),
        Some(drops >= LEAST_DROPS),
    )
}

fn low_loss(m: &Traffic) -> Option<Condition> {
    let p = loss_rate_without_model_based(m)?;
    Some(Condition::new(
        format!(
            "loss measured below 10 %, without that of BBR ({:.2} %)",
            p * 100.0
        ),
        Some(p < LARGEST_LOSS),
    ))
}

fn enough_arrivals(m: &Traffic) -> Condition {
    let arrivals = m.occupancy.as_ref().map_or(0, |o| o.arrivals);
    Condition::new(
        format!(
            "occupancy known of at least {LEAST_ARRIVALS} arrivals at a constant limit ({arrivals})"
        ),
        Some(arrivals >= LEAST_ARRIVALS),
    )
}
