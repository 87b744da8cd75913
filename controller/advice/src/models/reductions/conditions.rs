// SPDX-License-Identifier: Apache-2.0
//! Conditions for scaling a measurement by windows and the loss law.

use super::uncertainty::loss_rate_without_model_based;
use tidemark_rules::{CongestionControl, Regime, Traffic};

/// Number of drops from which the measured loss rate is scaled and the limit counts as the bound of
/// the windows.
pub const LEAST_DROPS: u64 = 20;
/// Number of arrivals from which their occupancy counts as a distribution.
const LEAST_ARRIVALS: u64 = 2_000;
/// Share of the capacity that LBP flows must carry.
const LEAST_SHARE: f64 = 0.5;
/// Loss rate above which timeouts, not decreases, determine the windows.
const LARGEST_LOSS: f64 = 0.1;

/// Whether LBP flows that reduce on loss fill the link, and enough drops were seen.
pub(super) fn scalable(m: &Traffic) -> bool {
    let fill = m.n_b.value >= 1.0 && m.saturable != Some(false) && m.c_e_share.value >= LEAST_SHARE;
    let elastic = match m.regime {
        Regime::Unknown => true,
        regime => regime == Regime::Elastic && fill,
    };
    let drops = m.observed.map_or(0, |o| o.drops);
    elastic
        && m.all_model_based() != Some(true)
        && drops >= LEAST_DROPS
        && loss_rate_without_model_based(m).is_none_or(|p| p < LARGEST_LOSS)
}

/// Whether bottlenecked flows were observed with few losses: then neither how many lose together
/// nor how much each loses is known.
pub fn losses_unobserved(m: &Traffic) -> bool {
    m.lbp_present()
        && m.observed.is_some_and(|o| o.drops < LEAST_DROPS)
        && m.congestion_control != CongestionControl::Bbr
}

/// Whether the distribution of the occupancy is known.
pub(crate) fn occupancy_known(m: &Traffic) -> bool {
    m.occupancy
        .as_ref()
        .is_some_and(|o| o.arrivals >= LEAST_ARRIVALS)
}
