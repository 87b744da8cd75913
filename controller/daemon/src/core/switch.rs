// SPDX-License-Identifier: Apache-2.0
//! A switch: its driver, and what is known of it.

use crate::config::{Config, SwitchConfig};
use std::collections::BTreeMap;
use std::sync::Arc;
use tidemark_control::Limit;
use tidemark_southbound::{DryRun, Error, Health, Provisioned, Southbound};

/// One switch.
pub struct Switch {
    /// What is configured of it.
    pub config: SwitchConfig,
    /// What speaks to it; writes nothing in a dry run.
    pub driver: Arc<dyn Southbound>,
    /// One limit is changed or read at a time: what is read during a change would
    /// overtake it.
    pub(super) changing: tokio::sync::Mutex<()>,
    /// Held while the loops of its links are given a tick.
    pub(super) driven: tokio::sync::Mutex<()>,
    /// Held while it is inspected.
    pub inspecting: tokio::sync::Mutex<()>,
}

/// What is known of it.
#[derive(Clone, Debug, Default)]
pub struct SwitchState {
    /// Connection and program, as the driver told last.
    pub health: Health,
    /// The plan has been written since the switch came up.
    pub provisioned: bool,
    /// Why provisioning failed last time.
    pub provision_problem: Option<String>,
    /// Limits as last read from the switch, by port.
    pub limits: BTreeMap<u32, Limit>,
}

/// Drivers for the configured switches; they connect when first used.
///
/// # Errors
/// An address or a key of a driver's section that makes no sense, credentials
/// that cannot be read.
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
    /// A switch with its driver; in a dry run with one that cannot write.
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

    /// Writes the plan, if there is one.
    ///
    /// # Errors
    /// What the driver says.
    pub async fn provision(&self) -> Result<Option<Provisioned>, Error> {
        match &self.config.provision {
            Some(plan) => Ok(Some(self.driver.provision(plan).await?)),
            None => Ok(None),
        }
    }
}
