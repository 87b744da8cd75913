// SPDX-License-Identifier: Apache-2.0
//! Formulas of NGI, and what rules of links without a bottlenecked flow share.

use crate::error::{RuleError, fraction, not_negative, open_fraction};
use crate::rule::{Assumption, Condition, Paper};
use crate::traffic::Regime;

/// The paper.
pub static PAPER: Paper = Paper {
    name: "NGI",
    citation: "J. Augé, J. Roberts: Buffer Sizing for Elastic Traffic. NGI 2006",
};

/// Buffer proposed as a starting point where one to four flows are
/// bottlenecked over a load of random arrivals (§IV-B, §VI), packets.
pub const ELASTIC_FEW_FLOWS_PKTS: (f64, f64) = (100.0, 200.0);

/// P(loss) ≈ ρ^b in the transparent regime (§IV-A): no bottlenecked flow,
/// nearly Poisson packet arrivals.
///
/// # Errors
/// ρ not between 0 and 1, b below 0.
pub fn transparent_loss(load: f64, buffer_pkts: f64) -> Result<f64, RuleError> {
    Ok(open_fraction("rho", load)?.powf(not_negative("b (packets)", buffer_pkts)?))
}

/// b = ln p̂/ln ρ, the packets that keep the loss of the transparent regime
/// below p̂ (§IV-A).
///
/// # Errors
/// ρ or p̂ not between 0 and 1.
pub fn transparent_packets(load: f64, loss_bound: f64) -> Result<f64, RuleError> {
    Ok(open_fraction("p (loss bound)", loss_bound)?.ln() / open_fraction("rho", load)?.ln())
}

/// P(k flows are bottlenecked) = (1−ρ)·ρ^k where all traffic is elastic and
/// shares fairly (§III-B).
///
/// # Errors
/// ρ outside 0..1.
pub fn bottlenecked_probability(load: f64, flows: u32) -> Result<f64, RuleError> {
    fraction("rho", load)?;
    Ok((1.0 - load) * load.powi(flows.min(i32::MAX as u32) as i32))
}

/// P(more than k flows are bottlenecked) = ρ^(k+1).
///
/// # Errors
/// ρ outside 0..1.
pub fn more_than_probability(load: f64, flows: u32) -> Result<f64, RuleError> {
    fraction("rho", load)?;
    Ok(load.powf(f64::from(flows) + 1.0))
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

    #[test]
    fn numbers_of_the_paper() {
        let p = transparent_loss(0.9, 100.0).unwrap();
        assert!((p - 2.66e-5).abs() < 1e-7 && p < 1.0 / 30_000.0, "{p}");
        assert!((transparent_loss(0.71, 20.0).unwrap() - 0.00106).abs() < 5e-6);
        assert!((more_than_probability(0.5, 4).unwrap() - 0.03125).abs() < 1e-12);
    }

    #[test]
    fn tail_is_one_minus_the_sum() {
        let sum: f64 = (0..=4)
            .map(|k| bottlenecked_probability(0.5, k).unwrap())
            .sum();
        assert!((1.0 - sum - more_than_probability(0.5, 4).unwrap()).abs() < 1e-12);
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(transparent_loss(1.0, 1.0).is_err());
        assert!(transparent_loss(0.5, -1.0).is_err());
        assert!(transparent_packets(0.5, 0.0).is_err());
        assert!(transparent_packets(0.0, 0.1).is_err());
        assert!(bottlenecked_probability(1.5, 1).is_err());
    }

    proptest! {
        #[test]
        fn packets_give_the_loss(load in 0.05f64..0.99, p in 1e-9f64..0.5) {
            let b = transparent_packets(load, p).unwrap();
            prop_assert!((transparent_loss(load, b).unwrap() / p - 1.0).abs() < 1e-6);
            prop_assert!(transparent_packets(load + 0.005, p).unwrap() > b);
        }
    }
}
