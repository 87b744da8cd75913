// SPDX-License-Identifier: Apache-2.0
//! Distribution of the occupancy seen by arriving packets, as bins.

use crate::estimator::Estimator;
use crate::types::LinkId;
use serde::{Deserialize, Serialize};
use tidemark_proto::histogram::{Counts, bucket_range};
use tidemark_proto::telemetry::LinkInterval;

/// Number of arrivals by the occupancy they saw, while one limit was in force.
///
/// Bins are those of the collector: one byte wide below 128 bytes, and at most 1/64 of their lower
/// end above. Empty bins are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct OccupancyDistribution {
    /// Start of the first interval, switch clock.
    pub from_ns: u64,
    /// End of the last interval.
    pub to_ns: u64,
    /// Limit in force throughout; 0 if the reports do not include it.
    pub limit_bytes: u64,
    /// Reported arrivals, including drops.
    pub arrivals: u64,
    /// Median occupancy seen by arrivals, bytes.
    pub p50_bytes: Option<f64>,
    /// 99th percentile, bytes.
    pub p99_bytes: Option<f64>,
    /// Largest occupancy seen, bytes.
    pub max_bytes: u64,
    /// Lower end of each bin, ascending.
    pub low_bytes: Vec<u64>,
    /// Upper end of each bin, exclusive.
    pub high_bytes: Vec<u64>,
    /// Arrivals in each bin.
    pub count: Vec<u64>,
}

impl Estimator {
    /// The distribution over the intervals within `[from_ns, to_ns)` (the node's clock), back to
    /// the last change of the limit: occupancies under two limits are two distributions. Empty for
    /// a link without records.
    pub fn occupancy_distribution(
        &self,
        link: LinkId,
        from_ns: u64,
        to_ns: u64,
    ) -> OccupancyDistribution {
        let within = |r: &&LinkInterval| {
            r.start_ns >= from_ns && r.start_ns.saturating_add(r.duration_ns) <= to_ns
        };
        let newest_first = self.link_intervals(link).rev();
        of(newest_first.skip_while(|r| !within(r)).take_while(within))
    }
}

fn of<'a>(newest_first: impl Iterator<Item = &'a LinkInterval>) -> OccupancyDistribution {
    let mut d = OccupancyDistribution::default();
    let mut counts = Counts::new();
    let mut limit = None;
    for r in newest_first {
        // An interval without arrivals reports no limit.
        if r.arrivals > 0 && *limit.get_or_insert(r.limit_bytes) != r.limit_bytes {
            break;
        }
        if d.to_ns == 0 {
            d.to_ns = r.start_ns.saturating_add(r.duration_ns);
        }
        d.from_ns = r.start_ns;
        d.max_bytes = d.max_bytes.max(r.occupancy_max_bytes);
        if let Some(h) = r.occupancy_bytes.as_ref() {
            counts.merge(h);
        }
    }
    d.limit_bytes = limit.unwrap_or(0);
    d.arrivals = counts.total();
    // A bin may reach beyond the largest value seen.
    let at = |q| counts.quantile(q).map(|v| v.min(d.max_bytes as f64));
    (d.p50_bytes, d.p99_bytes) = (at(0.5), at(0.99));
    for (bucket, count) in counts.iter() {
        let (low, width) = bucket_range(bucket);
        d.low_bytes.push(low);
        d.high_bytes.push(low.saturating_add(width));
        d.count.push(count);
    }
    d
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(start_ns: u64, limit_bytes: u64, met: &[u64]) -> LinkInterval {
        let mut counts = Counts::new();
        met.iter().for_each(|&v| counts.record(v));
        LinkInterval {
            start_ns,
            duration_ns: 10,
            limit_bytes,
            arrivals: met.len() as u32,
            occupancy_max_bytes: met.iter().copied().max().unwrap_or(0),
            occupancy_bytes: Some(counts.take()),
            ..LinkInterval::default()
        }
    }

    #[test]
    fn all_arrivals_at_the_last_limit() {
        let all = [
            interval(0, 5000, &[4000]),
            interval(10, 9000, &[0, 100]),
            interval(20, 0, &[]),
            interval(30, 9000, &[100, 6400]),
        ];
        let d = of(all.iter().rev());
        assert_eq!((d.from_ns, d.to_ns, d.limit_bytes), (10, 40, 9000));
        assert_eq!((d.arrivals, d.max_bytes), (4, 6400));
        assert_eq!(d.low_bytes, [0, 100, 6400]);
        assert_eq!(d.high_bytes, [1, 101, 6464]);
        assert_eq!(d.count, [1, 2, 1]);
        assert_eq!(d.p50_bytes, Some(100.0));
        assert_eq!(d.p99_bytes, Some(6400.0));
    }

    #[test]
    fn nothing_known() {
        assert_eq!(of([].iter()), OccupancyDistribution::default());
    }
}
