// SPDX-License-Identifier: Apache-2.0
//! Formulas of NGI, and helpers of rules for links without a bottlenecked flow.

use crate::error::{RuleError, not_negative, open_fraction, positive};
use crate::rule::{Assumption, Condition, Paper};
use crate::traffic::Regime;

/// The paper.
pub static PAPER: Paper = Paper {
    name: "NGI",
    citation: "J. Augé, J. Roberts: Buffer Sizing for Elastic Traffic. NGI 2006",
};

/// Buffer proposed as a starting point, packets, if one to four flows are bottlenecked and the
/// background load has random arrivals (§IV-B, §VI).
pub const ELASTIC_FEW_FLOWS_PKTS: (f64, f64) = (100.0, 200.0);

/// b = ln p̂/ln ρ, the buffer in packets that keeps the loss in the transparent regime, P(loss) ≈
/// ρ^b, below p̂ (§IV-A): no bottlenecked flow, nearly Poisson packet arrivals.
///
/// # Errors
/// ρ or p̂ not between 0 and 1.
pub fn transparent_packets(load: f64, loss_bound: f64) -> Result<f64, RuleError> {
    Ok(open_fraction("p (loss bound)", loss_bound)?.ln() / open_fraction("rho", load)?.ln())
}

/// Loss of M/M/1/K, (1−ρ)·ρ^b/(1−ρ^(b+1)), at any load; 1/(b+1) at ρ = 1. If packets arrive in
/// bursts, b counts bursts: the buffer over the mean size of the burst that a packet belongs to,
/// E\[X²\]/E\[X\].
///
/// # Errors
/// ρ not above 0, b below 0.
pub fn finite_buffer_loss(load: f64, bursts: f64) -> Result<f64, RuleError> {
    let (rho, b) = (positive("rho", load)?, not_negative("b (bursts)", bursts)?);
    if (rho - 1.0).abs() < 1e-9 {
        return Ok(1.0 / (b + 1.0));
    }
    // In a form that does not overflow on either side of 1.
    Ok(if rho < 1.0 {
        let tail = rho.powf(b);
        (1.0 - rho) * tail / (1.0 - rho * tail)
    } else {
        (rho - 1.0) / (rho - rho.powf(-b))
    })
}

/// Mean queue of M/M/1/K, in bursts; see [`finite_buffer_loss`].
pub fn finite_buffer_queue(load: f64, bursts: f64) -> Result<f64, RuleError> {
    let (rho, b) = (positive("rho", load)?, not_negative("b (bursts)", bursts)?);
    if (rho - 1.0).abs() < 1e-4 {
        return Ok(b / 2.0);
    }
    // b·ρ^(b+1)/(1−ρ^(b+1)) without overflow.
    let last = (b + 1.0) / (rho.powf(-(b + 1.0)) - 1.0);
    Ok((rho / (1.0 - rho) - last).clamp(0.0, b))
}

/// Returns ρ^b of the M/M/1/K with this loss: the share of arrivals that would find an occupancy of
/// b or more in a queue without a limit.
///
/// # Errors
/// ρ or p not between 0 and 1.
pub fn tail_of_loss(load: f64, loss: f64) -> Result<f64, RuleError> {
    let (rho, p) = (open_fraction("rho", load)?, open_fraction("p", loss)?);
    Ok(p / (1.0 - rho + rho * p))
}

/// No flow is bottlenecked here.
pub(crate) static NO_LBP_FLOW: Assumption = Assumption {
    statement: "no bottlenecked flow",
    check: |s, _| {
        let n = s.n_b();
        Some(Condition::new(
            format!("no flow is bottlenecked here (N_b = {n:.1})"),
            match s.traffic.regime {
                Regime::Unknown => None,
                _ => Some(n < 1.0 || s.traffic.saturable == Some(false)),
            },
        ))
    },
};

pub(crate) static BELOW_CAPACITY: Assumption = Assumption {
    statement: "load below capacity",
    check: |s, _| {
        let rho = s.traffic.rho;
        Some(Condition::new(
            format!("load below capacity ({rho:.2})"),
            Some(rho < 1.0),
        ))
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// P(loss) ≈ ρ^b.
    fn transparent_loss(load: f64, buffer_pkts: f64) -> f64 {
        load.powf(buffer_pkts)
    }

    #[test]
    fn numbers_of_the_paper() {
        let p = transparent_loss(0.9, 100.0);
        assert!((p - 2.66e-5).abs() < 1e-7 && p < 1.0 / 30_000.0, "{p}");
        assert!((transparent_packets(0.9, p).unwrap() - 100.0).abs() < 1e-9);
        assert!((transparent_packets(0.71, 0.00106).unwrap() - 20.0).abs() < 0.02);
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(transparent_packets(0.5, 0.0).is_err());
        assert!(transparent_packets(0.0, 0.1).is_err());
        assert!(transparent_packets(1.0, 0.1).is_err());
    }

    #[test]
    fn a_finite_buffer_has_no_jump_at_capacity() {
        // M/M/1/K by its state probabilities: the last of K + 1.
        for rho in [0.5f64, 0.93, 1.0, 1.3] {
            let all: f64 = (0..=20).map(|k| rho.powi(k)).sum();
            let p = finite_buffer_loss(rho, 20.0).unwrap();
            assert!((p - rho.powi(20) / all).abs() < 1e-12, "{rho}: {p}");
            let waiting: f64 = (0..=20).map(|k| f64::from(k) * rho.powi(k)).sum();
            let mean = finite_buffer_queue(rho, 20.0).unwrap();
            assert!((mean - waiting / all).abs() < 1e-6, "{rho}: {mean}");
        }
        let near = |rho| finite_buffer_loss(rho, 20.0).unwrap();
        assert!((near(1.0 - 1e-7) - near(1.0 + 1e-7)).abs() < 1e-6);
        assert!((finite_buffer_loss(1.25, 1e6).unwrap() - 0.2).abs() < 1e-12);
        assert!(finite_buffer_loss(0.0, 1.0).is_err() && finite_buffer_loss(0.5, -1.0).is_err());
        let p = finite_buffer_loss(0.7, 12.0).unwrap();
        assert!((tail_of_loss(0.7, p).unwrap() - 0.7f64.powi(12)).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn packets_give_the_loss(load in 0.05f64..0.99, p in 1e-9f64..0.5) {
            let b = transparent_packets(load, p).unwrap();
            prop_assert!((transparent_loss(load, b) / p - 1.0).abs() < 1e-6);
            prop_assert!(transparent_packets(load + 0.005, p).unwrap() > b);
        }
    }
}
