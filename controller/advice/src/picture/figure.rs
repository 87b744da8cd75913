// SPDX-License-Identifier: Apache-2.0
//! Description of the picture of a verdict.

use super::axis::{Axis, Point, Scale};
use crate::verdict::{RuleTick, Verdict};

/// Origin of a picture, in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The link, like `s1, port 5`.
    pub link: String,
    /// The run, or its phase; `None` if live.
    pub run: Option<String>,
    /// Date of the measurement, in words.
    pub date: Option<String>,
}

impl About {
    /// Returns a file name without extension: lower-case ASCII letters, digits and hyphens.
    pub fn file_stem(&self) -> String {
        let all = format!(
            "verdict {} {}",
            self.link,
            self.run.as_deref().unwrap_or("")
        );
        let words = all.split(|c: char| !c.is_ascii_alphanumeric());
        let words: Vec<String> = words
            .filter(|w| !w.is_empty())
            .map(str::to_ascii_lowercase)
            .collect();
        words.join("-")
    }
}

/// One quantity over the limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// The quantity.
    pub name: &'static str,
    /// Unit of the quantity.
    pub unit: &'static str,
    /// Axis of the values.
    pub axis: Axis,
    /// Target; `None` without a bound.
    pub target: Option<f64>,
    /// Expected values, with their ranges.
    pub curve: Vec<Point>,
    /// The expected mean, if the curve shows the largest value; else empty.
    pub mean: Vec<Point>,
    /// Measured values, with their sampling errors.
    pub measured: Vec<Point>,
}

/// Description of the picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Link and answer.
    pub title: String,
    /// Run, date and reason.
    pub subtitle: String,
    /// The answer's reason.
    pub because: String,
    /// The limit, bytes, logarithmic.
    pub limit: Axis,
    /// Bytes drained per millisecond, if the rate is known.
    pub bytes_per_ms: Option<f64>,
    /// Bytes per packet, if known.
    pub bytes_per_packet: Option<f64>,
    /// Utilisation, loss and delay.
    pub panels: Vec<Panel>,
    /// The limit in force, bytes.
    pub in_force_bytes: Option<f64>,
    /// Lower end, value to set and upper end of the advice, bytes.
    pub advised_bytes: Option<[f64; 3]>,
    /// The papers' sizes, from small to large.
    pub rules: Vec<RuleTick>,
}

/// Factor by which the picture extends beyond the measured and advised limits.
const AROUND: f64 = 4.0;

impl Figure {
    /// Creates the picture of a verdict with a curve; `None` without a curve.
    pub fn of(verdict: &Verdict, about: &About) -> Option<Self> {
        let limit = limits(verdict)?;
        let shown = |b: &f64| (limit.low..=limit.high).contains(b);
        let curve: Vec<_> = verdict
            .curve
            .iter()
            .filter(|p| shown(&p.buffer_bytes))
            .collect();
        if curve.len() < 2 {
            return None;
        }
        let over = |value: fn(&crate::Prediction) -> tidemark_rules::Range, unit: f64| {
            let points = curve.iter().map(|p| {
                let r = value(&p.predicted);
                point(p.buffer_bytes, r, unit)
            });
            points.collect::<Vec<_>>()
        };
        let measured = |value: fn(&crate::MeasuredLimit) -> tidemark_rules::Range, unit: f64| {
            let points = verdict.measured.iter();
            let points = points.map(|m| point(m.limit_bytes, value(m), unit));
            points.collect::<Vec<_>>()
        };
        let targets = &verdict.targets;
        let utilisation = targets.utilisation * 100.0;
        let used = measured(|m| m.utilisation, 100.0);
        let lost = measured(|m| m.loss_rate, 100.0);
        let waited = measured(|m| tidemark_rules::Range::exact(m.delay_mean_ms), 1.0);
        let loss = targets.loss_rate.map(|p| p * 100.0);
        let panels = vec![
            Panel {
                name: "utilisation",
                unit: "%",
                axis: Axis::below(100.0, utilisation, &used),
                target: Some(utilisation),
                curve: over(|p| p.utilisation, 100.0),
                mean: Vec::new(),
                measured: used,
            },
            Panel {
                name: "loss",
                unit: "%",
                axis: Axis::above_zero(loss, &lost),
                target: loss,
                curve: over(|p| p.loss_rate, 100.0),
                mean: Vec::new(),
                measured: lost,
            },
            Panel {
                name: "delay",
                unit: "ms",
                axis: Axis::above_zero(targets.delay_ms, &waited),
                target: targets.delay_ms,
                curve: over(|p| p.delay_ms, 1.0),
                mean: over(|p| p.delay_mean_ms, 1.0),
                measured: waited,
            },
        ];
        let mut rules = verdict.rules.clone();
        rules.retain(|r| shown(&r.bytes));
        rules.sort_by(|a, b| a.bytes.total_cmp(&b.bytes));
        let (low, set, high) = (verdict.low_bytes, verdict.set_bytes, verdict.high_bytes);
        let advised = low.zip(set).zip(high);
        let [run, date] = [&about.run, &about.date].map(|o| o.as_deref().unwrap_or(""));
        let origin: Vec<&str> = [run, date].into_iter().filter(|s| !s.is_empty()).collect();
        Some(Self {
            title: format!("{}: {}", about.link, verdict.headline()),
            subtitle: origin.join(", "),
            because: verdict.because.clone(),
            limit,
            bytes_per_ms: verdict.drain_bytes_per_s.map(|d| d / 1e3),
            bytes_per_packet: verdict.packet_bytes,
            panels,
            in_force_bytes: verdict.in_force_bytes,
            advised_bytes: advised.map(|((l, s), h)| [l, s, h].map(|b| b as f64)),
            rules,
        })
    }
}

fn point(limit_bytes: f64, r: tidemark_rules::Range, unit: f64) -> Point {
    Point {
        limit_bytes,
        low: r.low * unit,
        value: r.value * unit,
        high: r.high * unit,
    }
}

/// Returns the limits shown: those measured and advised, and enough around them to show the shape.
fn limits(verdict: &Verdict) -> Option<Axis> {
    let advised = [verdict.low_bytes, verdict.set_bytes, verdict.high_bytes];
    let named = advised.into_iter().flatten().map(|b| b as f64);
    let named = named.chain(verdict.in_force_bytes);
    let named = named.chain(verdict.measured.iter().map(|m| m.limit_bytes));
    let (mut low, mut high) = (f64::INFINITY, 0.0f64);
    for b in named.filter(|&b| b >= 1.0) {
        (low, high) = (low.min(b), high.max(b));
    }
    // Nothing is predicted beyond the curve.
    let ends = verdict.curve.first().zip(verdict.curve.last());
    let (first, last) = ends.map(|(a, b)| (a.buffer_bytes, b.buffer_bytes))?;
    let axis = Axis {
        low: (low / AROUND).max(first),
        high: (high * AROUND).min(last),
        scale: Scale::Log,
    };
    (low.is_finite() && axis.high > axis.low).then_some(axis)
}
