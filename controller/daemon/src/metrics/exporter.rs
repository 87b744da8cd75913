// SPDX-License-Identifier: Apache-2.0
//! A snapshot as Prometheus reads it.

use super::declared::{AUDIT, AUTO_MODE, COLLECTOR, LIMIT_CHANGES, LINK, SWITCH_READY};
use super::snapshot::Snapshot;
use daemon_kit::metrics::{Kind, MetricDoc, Number};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use std::fmt;
use tidemark_control::Outcome;

/// Everything there is at one moment.
#[derive(Debug)]
pub(super) struct Exporter {
    pub snapshot: Snapshot,
    /// In the order of [`Outcome::ALL`].
    pub changes: [u64; Outcome::ALL.len()],
}

fn value(kind: Kind, number: Number, to: MetricEncoder<'_>) -> fmt::Result {
    match (kind, number) {
        (Kind::Counter, number) => ConstCounter::new(number.as_u64()).encode(to),
        (Kind::Gauge, Number::Whole(v)) => {
            ConstGauge::new(i64::try_from(v).unwrap_or(i64::MAX)).encode(to)
        }
        (Kind::Gauge, Number::Real(v)) => ConstGauge::new(v).encode(to),
    }
}

fn descriptor<'e>(
    e: &'e mut DescriptorEncoder<'_>,
    doc: &MetricDoc,
) -> Result<MetricEncoder<'e>, fmt::Error> {
    let metric_type = match doc.kind {
        Kind::Counter => MetricType::Counter,
        Kind::Gauge => MetricType::Gauge,
    };
    e.encode_descriptor(doc.name, doc.help, None, metric_type)
}

/// One metric with its values, each with its labels. Without a value it is left out.
fn family<const N: usize>(
    e: &mut DescriptorEncoder<'_>,
    doc: &MetricDoc,
    values: impl Iterator<Item = ([(&'static str, String); N], Number)>,
) -> fmt::Result {
    let mut values = values.peekable();
    if values.peek().is_none() {
        return Ok(());
    }
    let mut encoder = descriptor(e, doc)?;
    for (labels, number) in values {
        value(doc.kind, number, encoder.encode_family(&labels)?)?;
    }
    Ok(())
}

fn single(e: &mut DescriptorEncoder<'_>, doc: &MetricDoc, number: Number) -> fmt::Result {
    value(doc.kind, number, descriptor(e, doc)?)
}

impl Collector for Exporter {
    fn encode(&self, mut e: DescriptorEncoder<'_>) -> fmt::Result {
        let s = &self.snapshot;
        for (doc, get) in LINK {
            let values = s.links.iter().filter_map(|l| {
                let link = [
                    ("node", l.link.node_id.to_string()),
                    ("port", l.link.port.to_string()),
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
