// SPDX-License-Identifier: Apache-2.0
//! `tidemark_controller_*` for Prometheus. Each metric is declared once: its name, its help text,
//! and how to read its value from a [`Snapshot`].

mod declared;
mod exporter;
mod snapshot;

pub use declared::docs;
pub use snapshot::{AuditSample, CollectorSample, LinkSample, Snapshot};

use daemon_kit::metrics::exposition::Format;
use exporter::Exporter;
use std::sync::atomic::{AtomicU64, Ordering};
use tidemark_control::Outcome;

/// Counters that only the metrics need, and the text of all metrics.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Limit changes by outcome, in the order of [`Outcome::ALL`].
    changes: [AtomicU64; Outcome::ALL.len()],
}

impl Metrics {
    /// Counts a limit change.
    pub fn change(&self, outcome: Outcome) {
        let counts = Outcome::ALL.iter().zip(&self.changes);
        for (_, count) in counts.filter(|(o, _)| **o == outcome) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Encodes all metrics for Prometheus. A value that is missing from the snapshot is left out: a
    /// link that fell silent must not keep its last one.
    ///
    /// # Errors
    /// A metric could not be written.
    pub fn encode(&self, snapshot: Snapshot, format: Format) -> Result<String, std::fmt::Error> {
        let exporter = Exporter {
            snapshot,
            changes: self.changes.each_ref().map(|c| c.load(Ordering::Relaxed)),
        };
        format.write("tidemark_controller", Box::new(exporter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_estimators::LinkId;
    use tidemark_rules::Targets;

    #[test]
    fn every_metric_is_documented() {
        let page = include_str!("../../../../docs/reference/metrics.md");
        for doc in docs() {
            assert!(page.contains(&format!("| `{}`", doc.name)), "{}", doc.name);
        }
    }

    #[test]
    fn what_is_declared_is_shown() {
        let metrics = Metrics::default();
        metrics.change(Outcome::Set);
        let link = LinkSample {
            link: LinkId {
                node_id: 10,
                port: 5,
                queue: 0,
            },
            node_name: "s\"1\"".into(),
            port_name: String::new(),
            capacity_bps: Some(100_000_000),
            limit_bytes: Some(9),
            verdict: None,
            estimate: None,
            targets: Targets {
                delay_ms: Some(20.0),
                ..Targets::default()
            },
            report_age_s: Some(0.25),
        };
        let collector = CollectorSample {
            address: "x".into(),
            connected: true,
            age_s: Some(0.5),
            updates: 7,
            updates_lost: 0,
        };
        let whole = Snapshot {
            links: vec![link],
            collectors: vec![collector],
            switches: vec![(10, true)],
            auto: true,
            audit: AuditSample::default(),
        };
        let text = metrics.encode(whole, Format::OpenMetrics).unwrap();
        for line in [
            "tidemark_controller_link_info{node=\"10\",port=\"5\",queue=\"0\",node_name=\"s\\\"1\\\"\",port_name=\"\"} 1",
            "tidemark_controller_capacity_bytes_per_second{node=\"10\",port=\"5\",queue=\"0\"} 12500000.0",
            "tidemark_controller_limit_bytes{node=\"10\",port=\"5\",queue=\"0\"} 9.0",
            "tidemark_controller_target_delay_seconds{node=\"10\",port=\"5\",queue=\"0\"} 0.02",
            "tidemark_controller_report_age_seconds{node=\"10\",port=\"5\",queue=\"0\"} 0.25",
            "tidemark_controller_updates_total{collector=\"x\"} 7",
            "tidemark_controller_telemetry_age_seconds{collector=\"x\"} 0.5",
            "tidemark_controller_switch_ready{node=\"10\"} 1",
            "tidemark_controller_limit_changes_total{outcome=\"set\"} 1",
            "tidemark_controller_limit_changes_total{outcome=\"failed\"} 0",
            "tidemark_controller_auto_mode 1",
            "tidemark_controller_audit_records_not_written_total 0",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} in\n{text}");
        }
        assert!(!text.contains("advised_limit_bytes{"), "{text}");
        let gone = metrics.encode(Snapshot::default(), Format::Text).unwrap();
        assert!(!gone.contains("node=\"10\""), "{gone}");
    }
}
