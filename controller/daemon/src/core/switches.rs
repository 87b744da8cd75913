// SPDX-License-Identifier: Apache-2.0
//! Keeps the switches provisioned and knows the limits in force.

use super::Core;
use super::audit::{Change, Origin, Outcome, lock, unix_ms};
use crate::config::{self, Config, SwitchConfig};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tidemark_southbound::bfrt::{self, Bfrt};
use tidemark_southbound::p4rt::{Options, P4Runtime};
use tidemark_southbound::{Error, Health, Limit, Provisioned, Southbound};

const POLL: Duration = Duration::from_secs(2);

/// One switch.
pub struct Switch {
    pub config: SwitchConfig,
    pub driver: Arc<dyn Southbound>,
    pub state: Mutex<SwitchState>,
}

/// What is known of it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SwitchState {
    pub health: Health,
    /// The plan has been written since the switch came up.
    pub provisioned: bool,
    /// Why provisioning failed last time.
    pub provision_problem: Option<String>,
    /// Limits as last read from the switch, by port.
    pub limits: BTreeMap<u32, Limit>,
    /// Limits that we set, to be restored when the switch loses its state.
    #[serde(skip)]
    pub ours: BTreeMap<u32, Limit>,
}

/// Drivers for the configured switches; they connect when first used.
///
/// # Errors
/// An address that makes no sense.
pub fn connect(config: &Config) -> Result<BTreeMap<u32, Switch>, Error> {
    let all = config.switches.iter().map(|s| {
        let driver: Arc<dyn Southbound> = match &s.bfrt {
            None => Arc::new(P4Runtime::new(Options {
                address: s.address.clone(),
                device_id: s.device_id,
                election_id: s.election_id,
                limit_unit_bytes: s.limit_unit_bytes,
                ..Options::default()
            })?),
            Some(b) => Arc::new(tofino(s, b)?),
        };
        Ok((s.node, Switch::new(s.clone(), driver)))
    });
    all.collect()
}

fn tofino(s: &SwitchConfig, b: &config::Bfrt) -> Result<Bfrt, Error> {
    let wrong = |field: &str, problem: String| Error::Value {
        field: field.into(),
        problem,
    };
    let device_id = u32::try_from(s.device_id)
        .map_err(|_| wrong("device_id", format!("{} is too large", s.device_id)))?;
    let options = bfrt::Options {
        address: s.address.clone(),
        device_id,
        client_id: b.client_id,
        p4_name: b.p4_name.clone(),
        cell_bytes: s.limit_unit_bytes,
        ..bfrt::Options::default()
    };
    let queues = b.queue_ports().map_err(|e| wrong("bfrt", e))?;
    Bfrt::new(options, queues)
}

impl Switch {
    /// A switch with its driver.
    pub fn new(config: SwitchConfig, driver: Arc<dyn Southbound>) -> Self {
        Self {
            config,
            driver,
            state: Mutex::default(),
        }
    }

    /// Writes the plan, if there is one.
    ///
    /// # Errors
    /// What the driver says.
    pub async fn provision(&self) -> Result<Option<Provisioned>, Error> {
        let done = match &self.config.provision {
            Some(plan) => Some(self.driver.provision(plan).await?),
            None => None,
        };
        let mut state = lock(&self.state);
        state.provisioned = true;
        state.provision_problem = None;
        if let Some(done) = &done {
            state.limits.extend(done.limits.iter());
        }
        Ok(done)
    }
}

/// Watches a switch until the task is aborted: provisions it when it comes up,
/// restores our limits when it lost them, reads the limits of known links.
pub async fn run(core: Arc<Core>, node: u32) {
    let Some(switch) = core.switches.get(&node) else {
        return;
    };
    let mut ticks = tokio::time::interval(POLL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        poll(&core, switch).await;
    }
}

async fn poll(core: &Core, switch: &Switch) {
    let node = switch.config.node;
    let mut health = switch.driver.health().await;
    let was = lock(&switch.state).clone();
    // Gone, or up again without our program: everything has to be written.
    if !health.connected || !health.program_loaded {
        lock(&switch.state).provisioned = false;
    }
    if health.connected && health.primary && !lock(&switch.state).provisioned {
        match switch.provision().await {
            Ok(done) => {
                let done = done.unwrap_or_default();
                tracing::info!(
                    node,
                    pushed = done.pushed,
                    entries = done.entries,
                    "switch: provisioned"
                );
                // Over BFRT nothing is pushed: only the limits themselves tell.
                if done.pushed || switch.config.bfrt.is_some() {
                    restore(core, switch, done.pushed).await;
                }
                health = switch.driver.health().await;
            }
            Err(e) => {
                let text = e.to_string();
                if was.provision_problem.as_ref() != Some(&text) {
                    tracing::error!(node, "switch: not provisioned: {text}");
                }
                lock(&switch.state).provision_problem = Some(text);
            }
        }
    }
    if health.problem != was.health.problem {
        match &health.problem {
            Some(p) => tracing::warn!(node, "switch: {p}"),
            None => tracing::info!(node, "switch: ready"),
        }
    }
    let readable = health.connected && health.program_loaded;
    lock(&switch.state).health = health;
    if readable {
        read_limits(core, switch).await;
    }
}

async fn read_limits(core: &Core, switch: &Switch) {
    let node = switch.config.node;
    let mut ports: Vec<u32> = core
        .known_links()
        .iter()
        .filter(|l| l.node_id == node)
        .map(|l| l.port)
        .collect();
    ports.extend(lock(&switch.state).limits.keys());
    ports.sort_unstable();
    ports.dedup();
    for port in ports {
        // A change under way would be overtaken by what was read before it.
        let _changing = core.changing.lock().await;
        match switch.driver.read_limit(port).await {
            Ok(limit) => {
                lock(&switch.state).limits.insert(port, limit);
            }
            Err(e) => {
                tracing::debug!(node, port, "limit not read: {e}");
                lock(&switch.state).limits.remove(&port);
            }
        }
    }
}

/// Gives the switch back the limits that we set: all of them when it has lost
/// everything, else those of which nothing is left.
async fn restore(core: &Core, switch: &Switch, all: bool) {
    let ours = lock(&switch.state).ours.clone();
    for (port, limit) in ours {
        let _changing = core.changing.lock().await;
        if !all && !matches!(switch.driver.read_limit(port).await, Ok(Limit::Unlimited)) {
            continue;
        }
        let result = switch.driver.set_limit(port, limit).await;
        let (outcome, error) = match &result {
            Ok(found) => {
                lock(&switch.state).limits.insert(port, *found);
                (Outcome::Set, None)
            }
            Err(e) => (Outcome::Failed, Some(e.to_string())),
        };
        core.audit.record(Change {
            unix_ms: unix_ms(),
            node: switch.config.node,
            port,
            origin: Origin::Restore,
            outcome,
            before: None,
            limit: Some(limit),
            reason: "the switch had lost its state".into(),
            error,
            expected: None,
            measured_before: None,
            measured_after: None,
        });
    }
}
