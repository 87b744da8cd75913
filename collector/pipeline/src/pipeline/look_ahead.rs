// SPDX-License-Identifier: Apache-2.0
//! Prefetches, some rows ahead, the totals that rows will be counted into: with many flows,
//! consecutive rows are of different flows.
//!
//! These are hints: the plain form is the same code without them. The test `together_or_one_by_one`
//! in `fast_path_tests.rs` checks that datagrams pushed together, with hints, give the same as
//! reports pushed one by one. Justified by the benchmark rows "decode, flow, join, intervals" of
//! `make bench-collector` with 10 000 and 100 000 flows.

use super::Pipeline;
use crate::aggregate::Step;
use crate::join::HostEvent;
use crate::prefetch::distance;
use crate::rows::Sink;
use std::collections::VecDeque;

impl<S: Sink> Pipeline<S> {
    /// Prefetches the totals that the next rows will be counted into.
    #[inline(never)]
    pub(super) fn prefetch_rows(&self) {
        for (step, places) in [
            (Step::Place, distance::ROW_PLACES),
            (Step::Totals, distance::ROW_TOTALS),
        ] {
            if let Some(row) = self.join.ahead(places) {
                self.emit
                    .aggregator
                    .prefetch_packet(step, row.flow_id, row.port);
            }
        }
    }

    /// Prefetches the totals that the next samples will be counted into.
    #[inline(never)]
    pub(super) fn prefetch_samples(&self, events: &VecDeque<HostEvent>) {
        for (step, places) in [
            (Step::Place, distance::SAMPLE_PLACES),
            (Step::Totals, distance::SAMPLE_TOTALS),
        ] {
            if let Some(event) = events.get(places)
                && let Some(hint) = event.hint
                && let Some(flow) = self.flows.get(hint.slot)
                && let Some(port) = flow.ports.first()
            {
                self.emit
                    .aggregator
                    .prefetch_sample(step, flow.id, port.port);
            }
        }
    }
}
