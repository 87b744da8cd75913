// SPDX-License-Identifier: Apache-2.0
//! Sums the status of several pipelines.

use parking_lot::Mutex;
use tidemark_proto::telemetry::CollectorStatus;

/// Last status of each pipeline; every pipeline publishes the sum of all.
#[derive(Debug, Default)]
pub struct StatusSum(Mutex<Vec<CollectorStatus>>);

impl StatusSum {
    /// Creates an empty status for each of `shards` pipelines.
    pub fn new(shards: usize) -> Self {
        Self(Mutex::new(vec![CollectorStatus::default(); shards]))
    }

    /// Replaces the status of a pipeline; returns the sum of all.
    pub fn replace(&self, shard: usize, status: &CollectorStatus) -> CollectorStatus {
        let mut all = self.0.lock();
        if let Some(last) = all.get_mut(shard) {
            last.clone_from(status);
        }
        all.iter().fold(CollectorStatus::default(), sum)
    }
}

macro_rules! sum {
    ($($field:ident)*) => {
        /// Adds every field by name, so that a new field cannot be forgotten.
        fn sum(a: CollectorStatus, b: &CollectorStatus) -> CollectorStatus {
            CollectorStatus { $($field: a.$field.plus(b.$field.clone())),* }
        }
    };
}

trait Plus: Sized {
    fn plus(self, other: Self) -> Self;
}

impl Plus for u64 {
    fn plus(self, other: Self) -> Self {
        self + other
    }
}

/// A pipeline that has not reported a value yet adds nothing.
impl Plus for Option<u64> {
    fn plus(self, other: Self) -> Self {
        self.or(other)
            .map(|_| self.unwrap_or(0) + other.unwrap_or(0))
    }
}

/// Each node belongs to one pipeline.
impl Plus for Vec<u32> {
    fn plus(mut self, other: Self) -> Self {
        self.extend(other);
        self.sort_unstable();
        self
    }
}

sum! {
    reports_received reports_lost reports_late reports_duplicate reports_implausible_sequence
    reports_of_hops nodes_of_hops_alone nodes_of_two_clocks
    datagrams_received datagrams_malformed kernel_drops
    probe_samples probe_lost
    join_candidates join_matched
    flows flows_evicted
    capture_rows capture_rows_lost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_status_replaces_the_one_before() {
        let sum = StatusSum::new(2);
        let status = |reports_received| CollectorStatus {
            reports_received,
            flows: 1,
            ..CollectorStatus::default()
        };
        assert_eq!(sum.replace(0, &status(5)).reports_received, 5);
        assert_eq!(sum.replace(1, &status(7)).reports_received, 12);
        let all = sum.replace(0, &status(6));
        assert_eq!((all.reports_received, all.flows), (13, 2));
    }
}
