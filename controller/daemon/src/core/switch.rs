// SPDX-License-Identifier: Apache-2.0
//! A switch: its driver, and what is known of it.

use super::audit::{Audit, Change};
use crate::config::{Config, SwitchConfig};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use tidemark_control::{AuditPolicy, Limit};
use tidemark_estimators::LinkId;
use tidemark_southbound::{DryRun, Error, Health, Provisioned, Southbound};

/// One switch.
pub struct Switch {
    /// Its configuration.
    pub config: SwitchConfig,
    /// Its driver; writes nothing in a dry run.
    pub driver: Arc<dyn Southbound>,
    /// Held while a limit is changed or read: a value read during a change would be outdated.
    pub(super) changing: tokio::sync::Mutex<()>,
    /// Held while the loops of its links process a tick.
    pub(super) driven: tokio::sync::Mutex<()>,
    /// Held while the switch is inspected.
    pub inspecting: tokio::sync::Mutex<()>,
}

/// State of a switch, as last seen.
#[derive(Clone, Debug, Default)]
pub struct SwitchState {
    /// Connection and program, as last reported by the driver.
    pub health: Health,
    /// Whether the plan has been written since the switch came up.
    pub provisioned: bool,
    /// Why provisioning failed last time.
    pub provision_problem: Option<String>,
    /// Limits as last read from the switch.
    pub limits: BTreeMap<LinkId, Limit>,
}

impl SwitchState {
    /// Whether limits can be set.
    pub fn is_ready(&self) -> bool {
        self.health.ready() && self.provisioned
    }
}

/// Result of writing a plan.
pub struct PlanWritten {
    /// Result from the driver.
    pub done: Provisioned,
    /// Outcomes of initial limits, to be recorded.
    pub outcomes: Vec<Change>,
    /// Ports without their initial limit, and why: the audit log did not take the intent.
    pub held_back: BTreeMap<u32, String>,
}

/// Creates the drivers for the configured switches; they connect when first used.
pub fn connect(config: &Config) -> Result<BTreeMap<u32, Switch>, Error> {
    let now_unix_s = super::time::unix_s();
    let all = config.switches.iter().enumerate().map(|(i, s)| {
        let access = s.access(i, now_unix_s).map_err(|e| Error::Value {
            field: e.key,
            problem: e.problem,
        })?;
        let driver = s.driver.connect(&s.reached_at(access))?;
        let dry_run = config.control.dry_run;
        Ok((s.node, Switch::new(s.clone(), driver, dry_run)))
    });
    all.collect()
}

impl Switch {
    /// Creates a switch with its driver; in a dry run the driver cannot write.
    pub fn new(config: SwitchConfig, driver: Arc<dyn Southbound>, dry_run: bool) -> Self {
        let driver: Arc<dyn Southbound> = match dry_run {
            true => Arc::new(DryRun::new(driver)),
            false => driver,
        };
        Self {
            config,
            driver,
            changing: tokio::sync::Mutex::default(),
            driven: tokio::sync::Mutex::default(),
            inspecting: tokio::sync::Mutex::default(),
        }
    }

    /// Writes the plan, if there is one. Its initial limits are recorded in `audit`
    /// before they are written.
    pub async fn provision(
        &self,
        audit: &Audit,
        policy: AuditPolicy,
        unix_ms: &(dyn Fn() -> u64 + Sync),
    ) -> Result<Option<PlanWritten>, Error> {
        let Some(plan) = &self.config.provision else {
            return Ok(None);
        };
        let link = |port| LinkId::new(self.config.node, port, 0);
        let held_back = Mutex::new(BTreeMap::new());
        let may_write = |port, limit| {
            let begun = audit.begin_initial(link(port), limit, unix_ms(), policy);
            begun
                .map_err(|why| held_back.lock().insert(port, why))
                .is_ok()
        };
        let done = self.driver.provision(plan, &may_write).await?;
        let mut outcomes = Vec::new();
        for port in audit.open_initial_ports(self.config.node) {
            let found = match done.limits.get(&port) {
                Some(limit) => *limit,
                // The port is no longer in the plan.
                None => match self.driver.read_limit(port).await {
                    Ok(limit) => limit,
                    Err(_) => continue,
                },
            };
            let unit_bytes = self.driver.describe().limit_unit_bytes;
            outcomes.extend(audit.end_initial(link(port), found, unit_bytes, unix_ms()));
        }
        Ok(Some(PlanWritten {
            done,
            outcomes,
            held_back: held_back.into_inner(),
        }))
    }
}
