// SPDX-License-Identifier: Apache-2.0
//! Regime (NGI §III), and whether the flows can saturate the link (OI §3.2).

use crate::types::{Evidence, Regime, RegimeEstimate, Saturable};

/// Inputs that decide the regime.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadFacts {
    pub arrivals: u64,
    pub n_b: f64,
    /// `None` without a capacity.
    pub rho: Option<f64>,
    pub rho_other: Option<f64>,
    pub loss_rate: f64,
    /// Median window of the LBP flows, weighted by bytes, segments: starved flows next to flows
    /// that fill the link do not make an overload.
    pub lbp_window_pkts: Option<f64>,
    pub evidence: Evidence,
}

/// Load of non-LBP flows with which nothing is left for elastic flows.
const FULL: f64 = 0.99;
/// Loss rate above which loss at minimum windows means overload.
const PERSISTING_LOSS: f64 = 0.05;
/// Largest windows that count as minimum, segments.
const MINIMUM_WINDOW: f64 = 2.0;

pub(crate) fn regime(f: &LoadFacts) -> RegimeEstimate {
    let (value, why) = decide(f);
    RegimeEstimate {
        value,
        evidence: f.evidence,
        why,
    }
}

fn decide(f: &LoadFacts) -> (Regime, String) {
    if f.arrivals == 0 {
        return (Regime::Unknown, "no packet was seen".into());
    }
    if let Some(other) = f.rho_other.filter(|&o| o >= FULL) {
        return (
            Regime::Overload,
            format!(
                "load that is not bottlenecked here is {:.0} % of capacity",
                other * 100.0
            ),
        );
    }
    if f.n_b >= 0.5 {
        if let Some(w) = f.lbp_window_pkts
            && w <= MINIMUM_WINDOW
            && f.loss_rate > PERSISTING_LOSS
        {
            return (
                Regime::Overload,
                format!(
                    "{:.1} % loss although windows are at {w:.1} segments",
                    f.loss_rate * 100.0
                ),
            );
        }
        return (
            Regime::Elastic,
            format!("{:.0} flows are bottlenecked here", f.n_b),
        );
    }
    match f.rho {
        Some(rho) if rho < FULL => (
            Regime::Transparent,
            format!(
                "no flow is bottlenecked here, load {:.0} % of capacity",
                rho * 100.0
            ),
        ),
        Some(rho) => (
            Regime::Overload,
            format!(
                "no flow is bottlenecked here, yet load is {:.0} % of capacity",
                rho * 100.0
            ),
        ),
        None => (
            Regime::Unknown,
            "no flow is bottlenecked here and the capacity is not known".into(),
        ),
    }
}

/// Saturable: a flow has no other limit, or all limits add up to the capacity. `limits_bytes_per_s`
/// is the sum of the limits of flows that are not LBP.
pub(crate) fn saturable(
    n_b: f64,
    limits_bytes_per_s: f64,
    capacity_bytes_per_s: Option<f64>,
) -> Saturable {
    let share = capacity_bytes_per_s.map(|c| limits_bytes_per_s / c);
    Saturable {
        value: if n_b >= 0.5 {
            Some(true)
        } else {
            share.map(|s| s >= 1.0)
        },
        bounded_share: share.unwrap_or(0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: LoadFacts = LoadFacts {
        arrivals: 100,
        n_b: 0.0,
        rho: Some(0.4),
        rho_other: Some(0.4),
        loss_rate: 0.0,
        lbp_window_pkts: None,
        evidence: Evidence::Probed,
    };

    #[test]
    fn regimes() {
        assert_eq!(regime(&IDLE).value, Regime::Transparent);
        let elastic = LoadFacts {
            n_b: 3.0,
            rho: Some(1.0),
            ..IDLE
        };
        assert_eq!(regime(&elastic).value, Regime::Elastic);
        let flooded = LoadFacts {
            rho_other: Some(1.2),
            ..elastic
        };
        assert_eq!(regime(&flooded).value, Regime::Overload);
        let starved = LoadFacts {
            lbp_window_pkts: Some(2.0),
            loss_rate: 0.1,
            ..elastic
        };
        assert_eq!(regime(&starved).value, Regime::Overload);
        let small = LoadFacts {
            loss_rate: 0.01,
            ..starved
        };
        assert_eq!(regime(&small).value, Regime::Elastic);
        assert_eq!(
            regime(&LoadFacts {
                arrivals: 0,
                ..IDLE
            })
            .value,
            Regime::Unknown
        );
        assert_eq!(
            regime(&LoadFacts { rho: None, ..IDLE }).value,
            Regime::Unknown
        );
    }

    #[test]
    fn what_can_saturate() {
        assert_eq!(saturable(2.0, 0.0, None).value, Some(true));
        assert_eq!(saturable(0.0, 5.0, Some(10.0)).value, Some(false));
        assert_eq!(saturable(0.0, 12.0, Some(10.0)).value, Some(true));
        assert_eq!(saturable(0.0, 12.0, None).value, None);
    }
}
