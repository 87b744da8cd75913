// SPDX-License-Identifier: Apache-2.0
//! The papers' formulas at one limit, with all quantities known.

use super::at_limit::{ModelOutcome, full_ms};
use super::without_lbp::{self, BURST};
use tidemark_rules::bscl::{self, Link};
use tidemark_rules::error::RuleError;
use tidemark_rules::sawtooth::sawtooth;
use tidemark_rules::traffic::{CongestionControl, Regime, Traffic};
use tidemark_rules::utb::single_flow;

/// One value for each uncertain quantity.
#[derive(Clone, Copy)]
pub(super) struct Parameters {
    pub n_b: f64,
    pub alpha: f64,
    pub t_e_s: f64,
    pub share: f64,
    /// Whether all flows lose packets in every loss event, and halve.
    pub together: bool,
}

impl Parameters {
    pub fn central(m: &Traffic) -> Self {
        Self {
            n_b: m.n_b.value,
            alpha: m.alpha.value,
            t_e_s: m.t_e_s.value,
            share: m.c_e_share.value,
            together: false,
        }
    }
}

pub(super) fn outcome(
    m: &Traffic,
    c: Parameters,
    buffer_bytes: f64,
) -> Result<ModelOutcome, RuleError> {
    let drain = m.drain_bytes_per_s();
    let full_ms = full_ms(m, buffer_bytes);
    if !m.lbp_present() || c.n_b < 1.0 || c.share <= 0.0 {
        return without_lbp::outcome(m, BURST.value, buffer_bytes);
    }
    let link = Link {
        lbp_bytes_per_s: drain * c.share.min(1.0),
        t_e_s: c.t_e_s,
        segment_bytes: m.segment_bytes,
        n_b: c.n_b,
    };
    let q = if c.together || c.n_b < 5.0 {
        1.0
    } else {
        bscl::loss_fraction(c.n_b, (c.alpha * c.n_b).max(1.0))?
    };
    let beta = m.beta.unwrap_or(single_flow::BETA_RENO);
    let beta = if c.together {
        beta.min(single_flow::BETA_RENO)
    } else {
        beta
    };
    let bdp = link.bdp_bytes();
    let highest = (bdp + buffer_bytes) / bdp;
    let step = (1.0 - q) * m.segment_bytes * c.n_b / bdp;
    let lowest = highest * (1.0 - q * (1.0 - beta)) + step;
    let s = sawtooth(lowest, highest)?;
    let share = c.share.min(1.0);
    let others = m.rho_other.min(1.0 - share).max(0.0);
    let overload = m.regime == Regime::Overload;
    let utilisation = if overload {
        1.0
    } else if m.congestion_control == CongestionControl::Bbr {
        // One of the eight phases of the cycle drains at 3/4 (UTB §3.5).
        let lowest = single_flow::bbr_utilisation(bdp, buffer_bytes)?;
        (1.0 - share * (1.0 - lowest) / 8.0).min(1.0)
    } else {
        // The unused part of the LBP flows' capacity stays unused.
        (share * s.utilisation + others.max(1.0 - share)).min(1.0)
    };
    let constant = m.assumed_constant.map_or(bscl::SQRT_CONSTANT, |k| k.value);
    let stack = (constant / bscl::SQRT_CONSTANT).powi(2);
    let mut loss_rate = (bscl::loss_rate_at(link, buffer_bytes)? * stack).min(1.0);
    if overload && m.rho_other > 1.0 {
        loss_rate = loss_rate.max(1.0 - 1.0 / m.rho_other);
    }
    let mean_ms = (s.mean_queue_bdp * bdp / drain * 1e3).min(full_ms);
    Ok(ModelOutcome {
        utilisation,
        loss_rate,
        delay_ms: full_ms,
        delay_mean_ms: if overload { full_ms } else { mean_ms },
    })
}
