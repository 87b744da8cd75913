// SPDX-License-Identifier: Apache-2.0
//! Encodes declared metrics for Prometheus. The registry adds the program's prefix.

use crate::metrics::{Kind, MetricDoc, Metrics, Number, Sample};
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeMetric as _, MetricEncoder, NoLabelSet,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use std::fmt;

fn value(kind: Kind, number: Number, to: MetricEncoder<'_>) -> fmt::Result {
    match (kind, number) {
        (Kind::Counter, number) => ConstCounter::new(number.as_u64()).encode(to),
        (Kind::Gauge, Number::Whole(v)) => {
            ConstGauge::new(i64::try_from(v).unwrap_or(i64::MAX)).encode(to)
        }
        (Kind::Gauge, Number::Real(v)) => ConstGauge::new(v).encode(to),
        // These are not numbers: see `histograms` and `infos`.
        (Kind::Histogram | Kind::Info, _) => Err(fmt::Error),
    }
}

fn descriptor<'e>(
    e: &'e mut DescriptorEncoder<'_>,
    doc: &MetricDoc,
) -> Result<MetricEncoder<'e>, fmt::Error> {
    let metric_type = match doc.kind {
        Kind::Counter => MetricType::Counter,
        Kind::Gauge => MetricType::Gauge,
        Kind::Histogram => MetricType::Histogram,
        Kind::Info => MetricType::Info,
    };
    // OpenMetrics adds an info's suffix to the samples, not to the name.
    let name = doc.name.strip_suffix("_info").unwrap_or(doc.name);
    e.encode_descriptor(name, doc.help, None, metric_type)
}

/// Encodes a metric and its labelled values. A metric without values is left out.
///
/// # Errors
/// The text cannot be written.
pub fn family<const N: usize>(
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

/// Encodes a metric without labels.
///
/// # Errors
/// Same as [`family`].
pub fn single(e: &mut DescriptorEncoder<'_>, doc: &MetricDoc, number: Number) -> fmt::Result {
    value(doc.kind, number, descriptor(e, doc)?)
}

/// Counts and sum of the values in a histogram.
#[derive(Clone, Copy, Debug)]
pub struct Distribution<'c> {
    /// Sum of all values.
    pub sum: f64,
    /// Count of each bucket; the last one, beyond all bounds, is for larger values.
    pub counts: &'c [u64],
}

/// Encodes a histogram for each set of labels. `bounds`: upper bound of each bucket but the last.
///
/// # Errors
/// Same as [`family`].
pub fn histograms<'c, const N: usize>(
    e: &mut DescriptorEncoder<'_>,
    doc: &MetricDoc,
    bounds: &[f64],
    values: impl Iterator<Item = ([(&'static str, String); N], Distribution<'c>)>,
) -> fmt::Result {
    let mut values = values.peekable();
    if values.peek().is_none() {
        return Ok(());
    }
    let mut encoder = descriptor(e, doc)?;
    let bounds = || bounds.iter().copied().chain([f64::INFINITY]);
    for (labels, Distribution { sum, counts }) in values {
        let buckets: Vec<(f64, u64)> = bounds().zip(counts.iter().copied()).collect();
        let count = counts.iter().sum();
        let mut of_labels = encoder.encode_family(&labels)?;
        of_labels.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)?;
    }
    Ok(())
}

/// Encodes an info for each set of labels.
///
/// # Errors
/// Same as [`family`].
pub fn infos<const N: usize>(
    e: &mut DescriptorEncoder<'_>,
    doc: &MetricDoc,
    values: impl Iterator<Item = [(&'static str, String); N]>,
) -> fmt::Result {
    let mut values = values.peekable();
    if values.peek().is_none() {
        return Ok(());
    }
    let mut encoder = descriptor(e, doc)?;
    for labels in values {
        encoder.encode_info(&labels)?;
    }
    Ok(())
}

/// Encodes every metric of a struct.
///
/// # Errors
/// Same as [`family`].
pub fn all(e: &mut DescriptorEncoder<'_>, metrics: &impl Metrics) -> fmt::Result {
    let mut values: Vec<(&'static MetricDoc, Vec<Sample>)> = Vec::new();
    metrics.visit(&mut |doc, sample| match values.last_mut() {
        Some((last, samples)) if last.name == doc.name => samples.push(sample),
        _ => values.push((doc, vec![sample])),
    });
    for (doc, samples) in values {
        if let [Sample::Value(number)] = samples[..] {
            single(e, doc, number)?;
            continue;
        }
        let labelled = samples.iter().filter_map(|sample| match sample {
            Sample::Labelled(label, n) => Some(([(*doc.labels.first()?, (*label).to_owned())], *n)),
            Sample::Value(_) => None,
        });
        family(e, doc, labelled)?;
    }
    Ok(())
}
