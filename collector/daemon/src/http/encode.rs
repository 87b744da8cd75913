// SPDX-License-Identifier: Apache-2.0
//! Single metrics in the Prometheus text format.

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use std::fmt;
use tidemark_proto::telemetry::ClockMapping;

fn full(name: &str) -> String {
    format!("tidemark_collector_{name}")
}

pub fn counter(
    e: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    value: u64,
) -> Result<(), fmt::Error> {
    let name = full(name);
    let metric = ConstCounter::new(value);
    let encoder = e.encode_descriptor(&name, help, None, metric.metric_type())?;
    metric.encode(encoder)
}

/// A counter per reason.
pub fn labelled(
    e: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    values: impl Iterator<Item = (&'static str, u64)>,
) -> Result<(), fmt::Error> {
    let name = full(name);
    let mut family = e.encode_descriptor(&name, help, None, MetricType::Counter)?;
    for (reason, value) in values {
        ConstCounter::new(value).encode(family.encode_family(&[("reason", reason)])?)?;
    }
    Ok(())
}

pub fn gauge(
    e: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    value: f64,
) -> Result<(), fmt::Error> {
    let name = full(name);
    let metric = ConstGauge::new(value);
    let encoder = e.encode_descriptor(&name, help, None, metric.metric_type())?;
    metric.encode(encoder)
}

/// A gauge per node and host.
pub fn clocks(
    e: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    clocks: &[ClockMapping],
    value: fn(&ClockMapping) -> f64,
) -> Result<(), fmt::Error> {
    let name = full(name);
    let mut family = e.encode_descriptor(&name, help, None, MetricType::Gauge)?;
    for c in clocks {
        let labels = [("node", c.node_id.to_string()), ("host", c.host.clone())];
        ConstGauge::new(value(c)).encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}
