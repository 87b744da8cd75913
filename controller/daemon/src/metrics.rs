// SPDX-License-Identifier: Apache-2.0
//! `tidemark_controller_*` for Prometheus.

use crate::core::Core;
use crate::core::audit::{Outcome, lock};
use crate::core::control::limit_in_force;
use crate::store::Stats;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tidemark_estimators::LinkEstimate;

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
type PerLink = Family<LinkLabel, Float>;
type Getter = fn(&LinkEstimate) -> Option<f64>;

/// Name, help and source of every per-link gauge taken from the estimate.
const LINK_GAUGES: &[(&str, &str, Getter)] = &[
    (
        "utilisation_ratio",
        "Bytes that left over capacity, in the window",
        |e| e.utilisation.mean,
    ),
    ("loss_ratio", "Drops over arrivals, in the window", |e| {
        Some(e.loss_rate)
    }),
    (
        "delay_p99_seconds",
        "Queueing delay, 99th percentile of the window",
        |e| e.delay_ms.p99.map(|v| v / 1e3),
    ),
    (
        "occupancy_p99_bytes",
        "Occupancy met by arrivals, 99th percentile of the window",
        |e| e.occupancy_bytes.p99,
    ),
    ("locally_bottlenecked_flows", "Estimate of N_b", |e| {
        Some(e.estimates.n_b.value)
    }),
    (
        "loss_burst_ratio",
        "Estimate of alpha = mean loss burst / N_b",
        |e| Some(e.estimates.alpha.value),
    ),
    ("window_spread_ratio", "Estimate of delta", |e| {
        e.estimates.delta.map(|d| d.value)
    }),
    ("effective_rtt_seconds", "Estimate of T_e", |e| {
        e.estimates.t_e_ms.map(|t| t.value / 1e3)
    }),
    (
        "locally_bottlenecked_share_ratio",
        "Estimate of C_e / C",
        |e| Some(e.estimates.c_e_share.value),
    ),
];

/// All metrics of the controller.
pub struct Metrics {
    registry: Registry,
    links: Vec<PerLink>,
    limit: PerLink,
    advised: PerLink,
    connected: Family<CollectorLabel, Gauge>,
    age: Family<CollectorLabel, Float>,
    updates: Family<CollectorLabel, Gauge>,
    updates_lost: Family<CollectorLabel, Gauge>,
    switch_ready: Family<SwitchLabel, Gauge>,
    changes: Family<OutcomeLabel, Counter>,
    audit: Vec<Gauge>,
}

/// Name and help of the gauges of the audit log, in the order of
/// [`audit_values`].
const AUDIT_GAUGES: &[(&str, &str)] = &[
    (
        "audit_records_not_written",
        "Records of the audit log that its file has not taken",
    ),
    (
        "audit_records_stored",
        "Records of the audit log that ClickHouse has taken",
    ),
    (
        "audit_records_rejected",
        "Lines of the audit log that are no record, or that ClickHouse cannot read",
    ),
    (
        "audit_store_retries",
        "Failed attempts to store records in ClickHouse",
    ),
    (
        "audit_waiting_bytes",
        "Bytes of the audit log that ClickHouse has not taken yet",
    ),
];

fn audit_values(core: &Core) -> [u64; 5] {
    let get = |f: fn(&Stats) -> &AtomicU64| {
        let stats = core.store.get();
        stats.map_or(0, |s| f(s).load(Ordering::Relaxed))
    };
    [
        core.audit.not_written(),
        get(|s| &s.stored),
        get(|s| &s.rejected),
        get(|s| &s.retries),
        get(|s| &s.waiting_bytes),
    ]
}

impl Default for Metrics {
    fn default() -> Self {
        let mut root = Registry::default();
        let registry = root.sub_registry_with_prefix("tidemark_controller");
        let mut links = Vec::new();
        for (name, help, _) in LINK_GAUGES {
            let family = PerLink::default();
            registry.register(*name, *help, family.clone());
            links.push(family);
        }
        let limit = PerLink::default();
        registry.register("limit_bytes", "Limit in force", limit.clone());
        let advised = PerLink::default();
        registry.register("advised_limit_bytes", "Limit advised", advised.clone());
        let connected = Family::default();
        registry.register(
            "collector_connected",
            "1 while subscribed",
            connected.clone(),
        );
        let age = Family::default();
        registry.register(
            "telemetry_age_seconds",
            "Age of the newest update",
            age.clone(),
        );
        let updates = Family::default();
        registry.register("updates", "Updates received", updates.clone());
        let updates_lost = Family::default();
        registry.register(
            "updates_lost",
            "Updates missed because the controller read too slowly",
            updates_lost.clone(),
        );
        let switch_ready = Family::default();
        registry.register(
            "switch_ready",
            "1 while limits can be set at the switch",
            switch_ready.clone(),
        );
        let changes = Family::default();
        registry.register("limit_changes", "Limit changes by outcome", changes.clone());
        let mut audit = Vec::new();
        for (name, help) in AUDIT_GAUGES {
            let gauge = Gauge::default();
            registry.register(*name, *help, gauge.clone());
            audit.push(gauge);
        }
        Self {
            registry: root,
            links,
            limit,
            advised,
            connected,
            age,
            updates,
            updates_lost,
            switch_ready,
            changes,
            audit,
        }
    }
}

impl Metrics {
    /// Counts a limit change.
    pub fn change(&self, outcome: Outcome) {
        let outcome = match outcome {
            Outcome::Set => "set",
            Outcome::Refused => "refused",
            Outcome::Failed => "failed",
            Outcome::DryRun => "dry_run",
            Outcome::Kept => "kept",
            Outcome::Worse => "worse",
            Outcome::Unclear => "unclear",
        };
        self.changes.get_or_create(&OutcomeLabel { outcome }).inc();
    }

    /// Copies the gauges from the state.
    pub fn refresh(&self, core: &Core) {
        for feed in &core.feeds {
            let f = lock(feed);
            let label = CollectorLabel {
                collector: f.address.clone(),
            };
            self.connected
                .get_or_create(&label)
                .set(i64::from(f.connected));
            if let Some(age) = f.age_s(Instant::now()) {
                self.age.get_or_create(&label).set(age);
            }
            let count = |v: u64| i64::try_from(v).unwrap_or(i64::MAX);
            self.updates.get_or_create(&label).set(count(f.updates));
            self.updates_lost
                .get_or_create(&label)
                .set(count(f.updates_lost));
        }
        for (gauge, value) in self.audit.iter().zip(audit_values(core)) {
            gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        }
        for (&node, s) in &core.switches {
            let ready = lock(&s.state).health.ready();
            self.switch_ready
                .get_or_create(&SwitchLabel { node })
                .set(i64::from(ready));
        }
        for id in core.known_links() {
            let label = LinkLabel {
                node: id.node_id,
                port: id.port,
            };
            if let Some(bytes) = limit_in_force(core, id).and_then(|l| l.bytes()) {
                self.limit.get_or_create(&label).set(bytes as f64);
            }
            let links = lock(&core.links);
            let Some(state) = links.get(&id) else {
                continue;
            };
            if let Some(e) = &state.estimate {
                for (family, (_, _, get)) in self.links.iter().zip(LINK_GAUGES) {
                    if let Some(v) = get(e) {
                        family.get_or_create(&label).set(v);
                    }
                }
            }
            if let Some(bytes) = state.advice.as_ref().and_then(|a| a.limit_bytes) {
                self.advised.get_or_create(&label).set(bytes as f64);
            }
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
