// SPDX-License-Identifier: Apache-2.0
//! Emit layer: puts rows into one order, hands them to the sink, and builds the
//! interval records from them.

use crate::aggregate::Aggregator;
use crate::rows::{Event, EventRow, PostcardRow, ProbeRow, Sink};
use crate::stats::Stats;

/// The sink, and what is needed to feed it: the order of rows, and open intervals.
#[derive(Debug)]
pub(crate) struct Emitter<S> {
    pub sink: S,
    pub aggregator: Aggregator,
    next_order: u64,
}

impl<S: Sink> Emitter<S> {
    pub(crate) fn new(aggregator: Aggregator, sink: S) -> Self {
        Self {
            sink,
            aggregator,
            next_order: 0,
        }
    }

    #[inline]
    fn order(&mut self) -> u64 {
        self.next_order += 1;
        self.next_order - 1
    }

    #[inline(always)]
    pub(crate) fn postcard(&mut self, row: &mut PostcardRow, stats: &mut Stats) {
        row.order = self.order();
        stats.postcard_rows += 1;
        self.sink.postcard(row);
        self.aggregator
            .make_room(row, &mut |update| self.sink.update(update));
        if self.aggregator.count(row) {
            self.aggregator
                .close_due(&mut |update| self.sink.update(update));
        }
    }

    #[inline(always)]
    pub(crate) fn probe(&mut self, mut row: ProbeRow, stats: &mut Stats) {
        row.order = self.order();
        stats.probe_rows += 1;
        self.sink.probe(&row);
        self.aggregator.probe(&row);
    }

    pub(crate) fn event(&mut self, event: Event, stats: &mut Stats) {
        let row = EventRow {
            order: self.order(),
            event,
        };
        stats.event_rows += 1;
        self.sink.event(&row);
        self.aggregator
            .event(&row, &mut |update| self.sink.update(update));
    }

    pub(crate) fn finish(&mut self) {
        self.aggregator
            .finish(&mut |update| self.sink.update(update));
    }

    /// Writes this layer's totals into `stats`.
    pub(crate) fn add_to(&self, stats: &mut Stats) {
        let outside = self.aggregator.out_of_window();
        stats.rows_late = outside.late;
        stats.rows_ahead = outside.ahead;
        stats.intervals_forced = outside.forced;
        stats.links_refused = outside.links_refused;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VecSink;
    use crate::aggregate::AggregateConfig;

    #[test]
    fn rows_of_all_kinds_share_one_order_and_replay_to_the_same_updates() {
        let config = AggregateConfig {
            interval_ns: 10,
            reorder_ns: 20,
            publish_ns: 30,
        };
        let aggregator = Aggregator::new(config);
        let mut emit = Emitter::new(aggregator, VecSink::default());
        let mut stats = Stats::default();
        for i in 0..100u64 {
            let mut row = PostcardRow {
                node_id: 1,
                flow_id: 2,
                ingress_ns: i * 3,
                egress_ns: i * 3 + 4,
                ..PostcardRow::default()
            };
            emit.postcard(&mut row, &mut stats);
            let probe = ProbeRow {
                node_id: 1,
                flow_id: 2,
                time_ns: i * 3,
                ..ProbeRow::default()
            };
            emit.probe(probe, &mut stats);
            if i % 10 == 0 {
                let time_ns = (i * 3).saturating_sub(50);
                emit.event(
                    Event::Watermark {
                        node_id: 1,
                        time_ns,
                    },
                    &mut stats,
                );
            }
        }
        emit.finish();
        assert_eq!(
            (stats.postcard_rows, stats.probe_rows, stats.event_rows),
            (100, 100, 10)
        );
        let sink = &emit.sink;
        let mut orders: Vec<u64> = sink.postcards.iter().map(|r| r.order).collect();
        orders.extend(sink.probes.iter().map(|r| r.order));
        orders.extend(sink.events.iter().map(|r| r.order));
        orders.sort_unstable();
        assert_eq!(orders, (0..210).collect::<Vec<u64>>());

        let mut replayed = Vec::new();
        let mut replay = |update| replayed.push(update);
        let mut aggregator = Aggregator::new(config);
        for order in 0..210 {
            if let Some(row) = sink.postcards.iter().find(|r| r.order == order) {
                aggregator.postcard(row, &mut replay);
            } else if let Some(row) = sink.probes.iter().find(|r| r.order == order) {
                aggregator.probe(row);
            } else if let Some(row) = sink.events.iter().find(|r| r.order == order) {
                aggregator.event(row, &mut replay);
            }
        }
        aggregator.finish(&mut replay);
        assert_eq!(replayed, sink.updates);
    }
}
