// SPDX-License-Identifier: Apache-2.0
//! One status of several pipelines.

use std::sync::{Mutex, PoisonError};
use tidemark_proto::telemetry::CollectorStatus;

/// The last status of each pipeline, which each publishes as the sum of all.
#[derive(Debug, Default)]
pub struct StatusSum(Mutex<Vec<CollectorStatus>>);

impl StatusSum {
    /// Nothing known of so many pipelines.
    pub fn new(shards: usize) -> Self {
        Self(Mutex::new(vec![CollectorStatus::default(); shards]))
    }

    /// Takes the status of a pipeline and gives that of all.
    pub fn replace(&self, shard: usize, status: &CollectorStatus) -> CollectorStatus {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = all.get_mut(shard) {
            *last = *status;
        }
        all.iter().fold(CollectorStatus::default(), sum)
    }
}

/// Every field is named: a new one has to be thought of here.
fn sum(a: CollectorStatus, b: &CollectorStatus) -> CollectorStatus {
    let CollectorStatus {
        reports_received,
        reports_lost,
        reports_late,
        reports_duplicate,
        datagrams_received,
        datagrams_malformed,
        kernel_drops,
        probe_samples,
        probe_lost,
        join_candidates,
        join_matched,
        flows,
        flows_evicted,
        capture_rows,
        capture_rows_lost,
        reports_implausible_sequence,
    } = *b;
    CollectorStatus {
        reports_received: a.reports_received + reports_received,
        reports_lost: a.reports_lost + reports_lost,
        reports_late: a.reports_late + reports_late,
        reports_duplicate: a.reports_duplicate + reports_duplicate,
        datagrams_received: a.datagrams_received + datagrams_received,
        datagrams_malformed: a.datagrams_malformed + datagrams_malformed,
        kernel_drops: a.kernel_drops + kernel_drops,
        probe_samples: a.probe_samples + probe_samples,
        probe_lost: a.probe_lost + probe_lost,
        join_candidates: a.join_candidates + join_candidates,
        join_matched: a.join_matched + join_matched,
        flows: a.flows + flows,
        flows_evicted: a.flows_evicted + flows_evicted,
        capture_rows: a.capture_rows + capture_rows,
        capture_rows_lost: a.capture_rows_lost + capture_rows_lost,
        reports_implausible_sequence: a.reports_implausible_sequence + reports_implausible_sequence,
    }
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
