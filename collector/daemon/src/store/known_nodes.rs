// SPDX-License-Identifier: Apache-2.0
//! Keeps rows of nodes that the configuration does not name out of a store.

use crate::engine::{RowSink, Standing};
use std::collections::BTreeSet;
use tidemark_pipeline::{Event, EventRow, PostcardRow, ProbeRow};
use tidemark_proto::telemetry::CollectorStatus;

/// A store that takes rows of known nodes only.
pub struct KnownNodes {
    store: Box<dyn RowSink>,
    nodes: BTreeSet<u32>,
    postcards: Vec<PostcardRow>,
    probes: Vec<ProbeRow>,
}

impl KnownNodes {
    /// Creates a filter that passes rows of `nodes` to `store`.
    pub fn new(store: Box<dyn RowSink>, nodes: BTreeSet<u32>) -> Self {
        Self {
            store,
            nodes,
            postcards: Vec::new(),
            probes: Vec::new(),
        }
    }

    fn has(&self, event: &Event) -> bool {
        match event {
            Event::Flow(f) => self.nodes.contains(&f.node_id),
            Event::Clock(c) => self.nodes.contains(&c.node_id),
            Event::Watermark { node_id, .. } | Event::Restart { node_id, .. } => {
                self.nodes.contains(node_id)
            }
            Event::Retransmit(at) | Event::CongestionState { at, .. } => {
                self.nodes.contains(&at.node_id)
            }
            Event::Host { .. } => true,
        }
    }
}

impl RowSink for KnownNodes {
    fn rows(&mut self, postcards: &[PostcardRow], probes: &[ProbeRow]) {
        let known = postcards.iter().filter(|r| self.nodes.contains(&r.node_id));
        self.postcards.clear();
        self.postcards.extend(known);
        let known = probes.iter().filter(|r| self.nodes.contains(&r.node_id));
        self.probes.clear();
        self.probes.extend(known);
        self.store.rows(&self.postcards, &self.probes);
    }

    fn event(&mut self, row: &EventRow) {
        if self.has(&row.event) {
            self.store.event(row);
        }
    }

    fn flush(&mut self) {
        self.store.flush();
    }

    fn set_unix_offset(&mut self, unix_minus_rx_ns: i64) {
        self.store.set_unix_offset(unix_minus_rx_ns);
    }

    fn standing(&mut self, standing: &Standing) {
        self.store.standing(standing);
    }

    fn status(&self, status: &mut CollectorStatus) {
        self.store.status(status);
    }

    fn finish(self: Box<Self>) -> anyhow::Result<()> {
        self.store.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Nodes(Arc<Mutex<Vec<u32>>>);

    impl RowSink for Nodes {
        fn rows(&mut self, rows: &[PostcardRow], _: &[ProbeRow]) {
            let nodes = rows.iter().map(|r| r.node_id);
            self.0.lock().unwrap().extend(nodes);
        }
        fn event(&mut self, row: &EventRow) {
            if let Event::Watermark { node_id, .. } = row.event {
                self.0.lock().unwrap().push(node_id + 100);
            }
        }
    }

    #[test]
    fn rows_of_other_nodes_are_not_stored() {
        let nodes = Nodes::default();
        let mut store = KnownNodes::new(Box::new(nodes.clone()), [2, 3].into());
        let rows = [1, 2, 3, 4].map(|node_id| PostcardRow {
            node_id,
            ..PostcardRow::default()
        });
        store.rows(&rows, &[]);
        for node_id in [1, 2] {
            store.event(&EventRow {
                order: 9,
                event: Event::Watermark {
                    node_id,
                    time_ns: 1,
                },
            });
        }
        assert_eq!(*nodes.0.lock().unwrap(), [2, 3, 102]);
    }
}
