// SPDX-License-Identifier: Apache-2.0
//! Metrics, declared once.
//!
//! [`metrics!`](crate::metrics!) declares a struct whose fields are metrics. The doc comment of a
//! field is its help text; name, kind, unit and labels are declared with the field. The struct is
//! an ordinary struct for the code that counts, and lists its metrics for `/metrics`
//! ([`Metrics::visit`]) and for the documentation ([`Metrics::DOCS`]).
//!
//! ```
//! use daemon_kit::metrics;
//! use daemon_kit::metrics::{Metrics, Sample};
//!
//! metrics! {
//!     /// Counters of a receiver.
//!     #[derive(Debug, Default)]
//!     pub struct Receiver {
//!         /// Datagrams received.
//!         counter datagrams: u64,
//!         /// Datagrams that could not be decoded.
//!         counter malformed: [u64; 2] = "datagrams_malformed" => "reason" in ["short", "version"],
//!         /// Bytes that wait in the socket's buffer.
//!         gauge waiting: u64 = "waiting_bytes",
//!     }
//! }
//!
//! let r = Receiver { datagrams: 3, malformed: [0, 1], waiting: 9 };
//! let mut lines = Vec::new();
//! r.visit(&mut |doc, sample| match sample {
//!     Sample::Value(v) => lines.push(format!("{} {v}", doc.name)),
//!     Sample::Labelled(label, v) => lines.push(format!("{}{{{label}}} {v}", doc.name)),
//! });
//! assert_eq!(lines, ["datagrams 3", "datagrams_malformed{short} 0",
//!     "datagrams_malformed{version} 1", "waiting_bytes 9"]);
//! assert_eq!(Receiver::DOCS[0].help, "Datagrams received");
//! ```
//!
//! Metrics that are not fields (metrics per link, computed metrics) are rows of a
//! [`metric_table!`](crate::metric_table!) or constants ([`MetricDoc::gauge`], ...).

mod declare;
#[cfg(feature = "prometheus")]
pub mod encode;
#[cfg(feature = "prometheus")]
pub mod exposition;
mod value;

pub use value::{Measured, Number, Sum};

/// Kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows. Prometheus shows its name with the suffix `_total`.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts values by size since the start: `_bucket`, `_sum` and `_count`.
    Histogram,
    /// Has its content in labels; the value is 1.
    Info,
}

impl Kind {
    /// Name of the kind in the documentation.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
            Self::Info => "info",
        }
    }
}

/// Description of a metric for the documentation and Prometheus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricDoc {
    /// Name without the program's prefix and without `_total`; an info's name has its `_info`.
    pub name: &'static str,
    /// Kind of the metric.
    pub kind: Kind,
    /// Names of the labels.
    pub labels: &'static [&'static str],
    /// The quantity counted or measured, without a full stop.
    pub help: &'static str,
}

impl MetricDoc {
    /// A counter without labels.
    pub const fn counter(name: &'static str, help: &'static str) -> Self {
        Self {
            name,
            kind: Kind::Counter,
            labels: &[],
            help: declare::sentence(help),
        }
    }

    /// A gauge without labels.
    pub const fn gauge(name: &'static str, help: &'static str) -> Self {
        Self {
            kind: Kind::Gauge,
            ..Self::counter(name, help)
        }
    }

    /// A histogram without labels.
    pub const fn histogram(name: &'static str, help: &'static str) -> Self {
        Self {
            kind: Kind::Histogram,
            ..Self::counter(name, help)
        }
    }

    /// An info; its name ends in `_info`.
    pub const fn info(name: &'static str, help: &'static str) -> Self {
        Self {
            kind: Kind::Info,
            ..Self::counter(name, help)
        }
    }

    /// Adds labels to the metric.
    pub const fn labels(self, labels: &'static [&'static str]) -> Self {
        Self { labels, ..self }
    }

    /// Returns the name as shown by Prometheus, for a program's `prefix` such as
    /// `tidemark_collector`.
    pub fn full_name(&self, prefix: &str) -> String {
        let total = match self.kind {
            Kind::Counter => "_total",
            Kind::Gauge | Kind::Histogram | Kind::Info => "",
        };
        format!("{prefix}_{}{total}", self.name)
    }
}

/// One value of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sample {
    /// The metric's only value.
    Value(Number),
    /// One of several values, with the value of the metric's only label.
    Labelled(&'static str, Number),
}

/// A struct whose fields are metrics; [`metrics!`](crate::metrics!) implements it.
pub trait Metrics {
    /// Every metric, in the order of declaration.
    const DOCS: &'static [MetricDoc];

    /// Calls `each` with every value, in the order of [`Metrics::DOCS`].
    fn visit(&self, each: &mut dyn FnMut(&'static MetricDoc, Sample));

    /// Returns every metric, for a list that joins several structs.
    fn table() -> Vec<MetricDoc> {
        Self::DOCS.to_vec()
    }
}
