// SPDX-License-Identifier: Apache-2.0
//! D(t) and s (UTB §4): how reductions of different flows coincide.

use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// D and s over the RTTs that had a loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Synchronised {
    pub rtts: u64,
    pub d_mean: f64,
    pub d_error: f64,
    pub d_max: f64,
    pub s_mean: f64,
    pub s_max: f64,
    /// Fraction of these RTTs in which Theorem 5's condition holds.
    pub condition_fraction: f64,
}

/// Distinct flows of `of` with a drop, for every RTT (from `from_ns` on) that
/// had one. Drops are (time, flow).
pub(crate) fn distinct_per_rtt(
    drops: &[(u64, u64)],
    from_ns: u64,
    rtt_ns: u64,
    of: &FxHashSet<u64>,
) -> Vec<f64> {
    let mut per: BTreeMap<u64, FxHashSet<u64>> = BTreeMap::new();
    for &(time, flow) in drops.iter().filter(|d| of.contains(&d.1)) {
        per.entry(time.saturating_sub(from_ns) / rtt_ns.max(1))
            .or_default()
            .insert(flow);
    }
    per.values().map(|flows| flows.len() as f64).collect()
}

/// Sums up D; `compensated` = n²/(Δ·BDP), `root` = √n. `None` without a loss.
pub(crate) fn synchronised(d: &[f64], compensated: f64, root: f64) -> Option<Synchronised> {
    let d_mean = crate::stats::mean(d)?;
    let s: Vec<f64> = d.iter().map(|d| (d - compensated).max(0.0)).collect();
    let holds = d.iter().filter(|&&d| d <= compensated + root).count();
    Some(Synchronised {
        rtts: d.len() as u64,
        d_mean,
        d_error: crate::stats::mean_error(d),
        d_max: d.iter().copied().fold(0.0, f64::max),
        s_mean: crate::stats::mean(&s)?,
        s_max: s.iter().copied().fold(0.0, f64::max),
        condition_fraction: holds as f64 / d.len() as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinct_flows_in_every_rtt_with_a_loss() {
        let of: FxHashSet<u64> = [1, 2, 3].into_iter().collect();
        let drops = [(100, 1), (101, 1), (105, 2), (112, 9), (131, 3)];
        let d = distinct_per_rtt(&drops, 100, 10, &of);
        assert_eq!(d, [2.0, 1.0]); // flow 9 is not counted
        let s = synchronised(&d, 0.5, 1.0).unwrap();
        assert_eq!((s.d_mean, s.d_max, s.s_mean, s.s_max), (1.5, 2.0, 1.0, 1.5));
        assert_eq!(s.condition_fraction, 0.5);
        assert_eq!(synchronised(&[], 0.5, 1.0), None);
    }
}
