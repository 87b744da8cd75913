// SPDX-License-Identifier: Apache-2.0
//! Base RTTs of flows, Tₑ and T̄ (BSCL eq. 12).

use crate::stats::{mean, quantile};
use crate::types::{Estimate, Evidence};
use crate::window::FlowWindow;
use tidemark_rules::bdp::effective_rtt_s;

/// A flow's base RTT with its relative error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BaseRtt {
    pub seconds: f64,
    pub error: f64,
    pub evidence: Evidence,
}

/// The part of a flow's intervals whose base RTT may be too small. Each is a
/// difference of two smoothed values, so that the least of thousands is least
/// by its error; queues elsewhere only ever add, so that the true one is low.
const BASE_RTT_QUANTILE: f64 = 0.1;

/// T_i: a low quantile of (srtt − queueing delay here) over the history, or the
/// handshake's where that is smaller: a flow that keeps a queue elsewhere hides
/// its base RTT later. Else the smallest srtt. `None` when nothing is known.
pub(crate) fn base_rtt(flow: &FlowWindow<'_>) -> Option<BaseRtt> {
    let probes = || flow.history.iter().filter_map(|r| r.probe.as_ref());
    let differences: Vec<f64> = probes()
        .map(|p| p.base_rtt_min_us)
        .filter(|&b| b > 0)
        .map(f64::from)
        .collect();
    let handshake = flow
        .info
        .map(|i| i.handshake_rtt_ns)
        .filter(|&h| h > 0)
        .map(|ns| ns as f64 / 1e9);
    if let Some(us) = quantile(&differences, BASE_RTT_QUANTILE) {
        let seconds = us / 1e6;
        return Some(BaseRtt {
            seconds: handshake.map_or(seconds, |h| h.min(seconds)),
            error: 0.05,
            evidence: Evidence::Probed,
        });
    }
    if let Some(seconds) = handshake {
        return Some(BaseRtt {
            seconds,
            error: 0.1,
            evidence: Evidence::Passive,
        });
    }
    // Includes queueing: an upper bound.
    let srtt = probes().map(|p| p.srtt_min_us).filter(|&b| b > 0).min()?;
    Some(BaseRtt {
        seconds: f64::from(srtt) / 1e6,
        error: 0.5,
        evidence: Evidence::Probed,
    })
}

/// Tₑ and T̄ in ms over the flows of which a base RTT is known.
pub(crate) fn t_e_and_mean_ms(rtts: &[BaseRtt]) -> Option<(Estimate, Estimate)> {
    let seconds: Vec<f64> = rtts.iter().map(|r| r.seconds).collect();
    let t_e = effective_rtt_s(&seconds).ok()?;
    let t_mean = mean(&seconds)?;
    let errors: Vec<f64> = rtts.iter().map(|r| r.error).collect();
    let error = mean(&errors)?;
    let evidence = match (
        rtts.iter().any(|r| r.evidence == Evidence::Probed),
        rtts.iter().any(|r| r.evidence == Evidence::Passive),
    ) {
        (true, true) => Evidence::Mixed,
        (true, false) => Evidence::Probed,
        _ => Evidence::Passive,
    };
    let around = |s: f64| {
        Estimate::new(
            s * 1e3,
            s * 1e3 * (1.0 - error),
            s * 1e3 * (1.0 + error),
            evidence,
            rtts.len() as u64,
        )
    };
    Some((around(t_e), around(t_mean)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmonic_and_arithmetic() {
        let rtts = [0.01, 0.02, 0.03, 0.04].map(|seconds| BaseRtt {
            seconds,
            error: 0.05,
            evidence: Evidence::Probed,
        });
        let (t_e, t_mean) = t_e_and_mean_ms(&rtts).unwrap();
        assert!((t_e.value - 19.2).abs() < 1e-9);
        assert!((t_mean.value - 25.0).abs() < 1e-9);
        assert!((t_e.low - 18.24).abs() < 1e-9 && (t_e.high - 20.16).abs() < 1e-9);
        assert!(t_e_and_mean_ms(&[]).is_none());
    }
}
