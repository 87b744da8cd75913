// SPDX-License-Identifier: Apache-2.0
//! Exports a snapshot to Prometheus.

use super::declared::{AUDIT, AUTO_MODE, COLLECTOR, LIMIT_CHANGES, LINK, LINK_INFO, SWITCH_READY};
use super::snapshot::Snapshot;
use daemon_kit::metrics::Number;
use daemon_kit::metrics::encode::{family, infos, single};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use std::fmt;
use tidemark_control::Outcome;
use tidemark_proto::ShownPort;

/// All values at one moment.
#[derive(Debug)]
pub(super) struct Exporter {
    pub snapshot: Snapshot,
    /// Limit changes by outcome, in the order of [`Outcome::ALL`].
    pub changes: [u64; Outcome::ALL.len()],
}

impl Collector for Exporter {
    fn encode(&self, mut e: DescriptorEncoder<'_>) -> fmt::Result {
        let s = &self.snapshot;
        let names = s.links.iter().map(|l| {
            [
                ("node", l.link.node_id.to_string()),
                ("port", ShownPort(l.link.port).to_string()),
                ("queue", l.link.queue.to_string()),
                ("node_name", l.node_name.clone()),
                ("port_name", l.port_name.clone()),
            ]
        });
        infos(&mut e, &LINK_INFO, names)?;
        for (doc, get) in LINK {
            let values = s.links.iter().filter_map(|l| {
                let link = [
                    ("node", l.link.node_id.to_string()),
                    ("port", ShownPort(l.link.port).to_string()),
                    ("queue", l.link.queue.to_string()),
                ];
                Some((link, Number::Real(get(l)?)))
            });
            family(&mut e, doc, values)?;
        }
        for (doc, get) in COLLECTOR {
            let values = s.collectors.iter();
            let values = values.filter_map(|c| Some(([("collector", c.address.clone())], get(c)?)));
            family(&mut e, doc, values)?;
        }
        let switches = s.switches.iter();
        let switches =
            switches.map(|&(node, ready)| ([("node", node.to_string())], u64::from(ready).into()));
        family(&mut e, &SWITCH_READY, switches)?;
        let changes = Outcome::ALL.iter().zip(self.changes);
        let changes = changes.map(|(o, count)| ([("outcome", o.label().to_owned())], count.into()));
        family(&mut e, &LIMIT_CHANGES, changes)?;
        single(&mut e, &AUTO_MODE, u64::from(s.auto).into())?;
        for (doc, get) in AUDIT {
            single(&mut e, doc, get(&s.audit).into())?;
        }
        Ok(())
    }
}
