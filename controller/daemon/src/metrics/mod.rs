// SPDX-License-Identifier: Apache-2.0
//! `tidemark_controller_*` for Prometheus. Each metric is declared once: its
//! name, its help text and where in a [`Snapshot`] its value comes from.

mod declared;
mod snapshot;

pub use declared::docs;
pub use snapshot::{AuditSample, CollectorSample, LinkSample, Snapshot};

use declared::{
    AUDIT, COLLECTOR, LIMIT_CHANGES, LINK, OfAudit, OfCollector, OfLink, SWITCH_READY,
    TELEMETRY_AGE,
};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Metric, Registry};
use std::sync::atomic::AtomicU64;
use tidemark_control::Outcome;
use tidemark_metrics::MetricDoc;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LinkLabel {
    node: u32,
    port: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CollectorLabel {
    collector: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SwitchLabel {
    node: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabel {
    outcome: &'static str,
}

type Float = Gauge<f64, AtomicU64>;

/// All metrics of the controller.
pub struct Metrics {
    registry: Registry,
    links: Vec<(Family<LinkLabel, Float>, OfLink)>,
    collectors: Vec<(Family<CollectorLabel, Gauge>, OfCollector)>,
    age: Family<CollectorLabel, Float>,
    switch_ready: Family<SwitchLabel, Gauge>,
    changes: Family<OutcomeLabel, Counter>,
    audit: Vec<(Gauge, OfAudit)>,
}

fn register<M: Metric + Clone + Default>(registry: &mut Registry, doc: &MetricDoc) -> M {
    let metric = M::default();
    registry.register(doc.name, doc.help, metric.clone());
    metric
}

impl Default for Metrics {
    fn default() -> Self {
        let mut root = Registry::default();
        let r = root.sub_registry_with_prefix("tidemark_controller");
        let links = LINK.iter().map(|(d, get)| (register(r, d), *get)).collect();
        let collectors = COLLECTOR.iter();
        let collectors = collectors.map(|(d, get)| (register(r, d), *get)).collect();
        let audit = AUDIT
            .iter()
            .map(|(d, get)| (register(r, d), *get))
            .collect();
        Self {
            links,
            collectors,
            audit,
            age: register(r, &TELEMETRY_AGE),
            switch_ready: register(r, &SWITCH_READY),
            changes: register(r, &LIMIT_CHANGES),
            registry: root,
        }
    }
}

fn whole(v: u64) -> i64 {
    i64::try_from(v).unwrap_or(i64::MAX)
}

impl Metrics {
    /// Counts a limit change.
    pub fn change(&self, outcome: Outcome) {
        let outcome = outcome.label();
        self.changes.get_or_create(&OutcomeLabel { outcome }).inc();
    }

    /// Takes the gauges from a snapshot.
    pub fn refresh(&self, s: &Snapshot) {
        for l in &s.links {
            let label = LinkLabel {
                node: l.link.node_id,
                port: l.link.port,
            };
            for (family, get) in &self.links {
                if let Some(v) = get(l) {
                    family.get_or_create(&label).set(v);
                }
            }
        }
        for c in &s.collectors {
            let label = CollectorLabel {
                collector: c.address.clone(),
            };
            for (family, get) in &self.collectors {
                family.get_or_create(&label).set(whole(get(c)));
            }
            if let Some(age_s) = c.age_s {
                self.age.get_or_create(&label).set(age_s);
            }
        }
        for &(node, ready) in &s.switches {
            let label = SwitchLabel { node };
            self.switch_ready.get_or_create(&label).set(ready.into());
        }
        for (gauge, get) in &self.audit {
            gauge.set(whole(get(&s.audit)));
        }
    }

    /// The text that Prometheus reads.
    ///
    /// # Errors
    /// Never in practice; writing to a string.
    pub fn encode(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_estimators::LinkId;

    #[test]
    fn every_metric_is_documented() {
        let page = include_str!("../../../../docs/reference/metrics.md");
        for doc in docs() {
            assert!(
                page.contains(&format!("| `{}` |", doc.name)),
                "{}",
                doc.name
            );
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
            },
            limit_bytes: Some(9),
            advised_bytes: None,
            estimate: None,
        };
        let collector = CollectorSample {
            address: "x".into(),
            connected: true,
            age_s: Some(0.5),
            updates: 7,
            updates_lost: 0,
        };
        metrics.refresh(&Snapshot {
            links: vec![link],
            collectors: vec![collector],
            switches: vec![(10, true)],
            audit: AuditSample::default(),
        });
        let text = metrics.encode().unwrap();
        let missing = docs().into_iter().filter(|d| {
            let of_estimate = LINK[..LINK.len() - 1].iter().any(|(l, _)| l.name == d.name);
            let set = d.name == "limit_bytes" || !of_estimate && d.name != "advised_limit_bytes";
            set && !text.contains(&format!("tidemark_controller_{}", d.name))
        });
        assert_eq!(missing.map(|d| d.name).collect::<Vec<_>>(), [""; 0]);
    }
}
