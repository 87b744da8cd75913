// SPDX-License-Identifier: Apache-2.0
//! Declared metrics in the Prometheus text format.

use daemon_kit::metrics::{Kind, MetricDoc, Metrics, Number, Sample};
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use std::fmt;
use tidemark_proto::telemetry::ClockMapping;

fn full(doc: &MetricDoc) -> String {
    format!("tidemark_collector_{}", doc.name)
}

fn value(kind: Kind, number: Number, to: MetricEncoder<'_>) -> Result<(), fmt::Error> {
    match kind {
        Kind::Counter => ConstCounter::new(number.as_u64()).encode(to),
        Kind::Gauge => ConstGauge::new(number.as_f64()).encode(to),
    }
}

/// Every metric of a struct.
pub(super) fn all(e: &mut DescriptorEncoder<'_>, metrics: &impl Metrics) -> Result<(), fmt::Error> {
    let mut values: Vec<(&'static MetricDoc, Vec<Sample>)> = Vec::new();
    metrics.visit(&mut |doc, sample| match values.last_mut() {
        Some((last, samples)) if last.name == doc.name => samples.push(sample),
        _ => values.push((doc, vec![sample])),
    });
    for (doc, samples) in values {
        one(e, doc, &samples)?;
    }
    Ok(())
}

fn one(
    e: &mut DescriptorEncoder<'_>,
    doc: &MetricDoc,
    samples: &[Sample],
) -> Result<(), fmt::Error> {
    let name = full(doc);
    let metric_type = match doc.kind {
        Kind::Counter => MetricType::Counter,
        Kind::Gauge => MetricType::Gauge,
    };
    let mut encoder = e.encode_descriptor(&name, doc.help, None, metric_type)?;
    if let [Sample::Value(number)] = samples {
        return value(doc.kind, *number, encoder);
    }
    for sample in samples {
        if let (Sample::Labelled(label, number), [key]) = (sample, doc.labels) {
            value(doc.kind, *number, encoder.encode_family(&[(*key, *label)])?)?;
        }
    }
    Ok(())
}

/// A gauge per node and host.
pub(super) fn clocks(
    e: &mut DescriptorEncoder<'_>,
    doc: &MetricDoc,
    clocks: &[ClockMapping],
    value: fn(&ClockMapping) -> f64,
) -> Result<(), fmt::Error> {
    let name = full(doc);
    let mut family = e.encode_descriptor(&name, doc.help, None, MetricType::Gauge)?;
    for c in clocks {
        let labels = [("node", c.node_id.to_string()), ("host", c.host.clone())];
        ConstGauge::new(value(c)).encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}
