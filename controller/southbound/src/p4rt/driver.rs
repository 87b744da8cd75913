// SPDX-License-Identifier: Apache-2.0
//! [`Southbound`] over P4Runtime.

use super::client::Client;
use super::entries::{self, Item};
use super::inspect;
use super::program::{Program, Table};
use crate::driver_kind::SwitchAddress;
use crate::program_contract::{QUEUE_TABLE, WATCH_TABLES};
use crate::rpc::read_back;
use crate::{
    Description, Error, Expected, Health, Inspection, Limit, MayWriteLimit, Provision, Provisioned,
    Southbound, SwitchReader,
};
use async_trait::async_trait;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tidemark_proto::p4::v1 as p4;
use tokio::sync::Mutex;
use tonic::transport::{Channel, Endpoint};

/// Name of the driver in the list of drivers and in a configuration.
pub(super) const NAME: &str = "p4runtime";

/// A switch that serves P4Runtime and runs the Tidemark program.
pub struct P4Runtime {
    pub(super) client: Client,
    // Names and ids of the program last seen on the switch.
    program: Mutex<Option<Arc<Program>>>,
    /// Whether a program was sent since the last successful provisioning: it may be loaded although
    /// no answer said so, or lack its entries.
    pub(super) push_untold: AtomicBool,
}

impl P4Runtime {
    /// Creates the driver and checks the address; connects on first use. Needs a tokio runtime.
    ///
    /// # Errors
    /// An address that is not `host:port` or a URL.
    pub fn new(switch: SwitchAddress) -> Result<Self, Error> {
        Self::over(switch, |endpoint| endpoint.connect_lazy())
    }

    /// Like [`Self::new`], but `connect` makes the connections, e.g. not over TCP.
    pub fn over(
        switch: SwitchAddress,
        connect: impl FnOnce(Endpoint) -> Channel,
    ) -> Result<Self, Error> {
        Ok(Self {
            client: Client::over(switch, connect)?,
            program: Mutex::new(None),
            push_untold: AtomicBool::new(false),
        })
    }

    fn unit(&self) -> u32 {
        self.client.switch().limit_unit_bytes.max(1)
    }

    async fn program(&self) -> Result<Arc<Program>, Error> {
        let mut known = self.program.lock().await;
        if let Some(p) = known.as_ref() {
            return Ok(Arc::clone(p));
        }
        let loaded = self.client.pipeline().await?;
        let info = loaded.and_then(|c| c.p4info);
        let info = info.ok_or_else(|| Error::NoProgram {
            address: self.client.switch().address.clone(),
        })?;
        let program = Arc::new(Program::new(info));
        *known = Some(Arc::clone(&program));
        Ok(program)
    }

    pub(super) async fn forget_program(&self) {
        *self.program.lock().await = None;
    }

    /// Deletes the entries of our tables that are not in the plan.
    async fn drop_others(
        &self,
        program: &Program,
        tables: &[&str],
        keep: &[Item],
    ) -> Result<(), Error> {
        for name in tables {
            if let Ok(table) = program.table(name) {
                self.drop_others_of(&table, keep).await?;
            }
        }
        Ok(())
    }

    async fn drop_others_of(&self, t: &Table<'_>, keep: &[Item]) -> Result<(), Error> {
        let all = entries::entries_of(t, false);
        let keys: Vec<_> = keep
            .iter()
            .filter_map(|i| entries::key_of(&i.entity))
            .collect();
        let mut stale = Vec::new();
        for entity in self.client.read(t.name(), all).await? {
            if entries::key_of(&entity).is_some_and(|k| !keys.contains(&k)) {
                stale.push(Item {
                    what: format!("an entry of {} that is not in the plan", t.name()),
                    entity,
                    modify_only: false,
                });
            }
        }
        self.client.delete(&stale).await
    }

    async fn stored_limit(
        &self,
        program: &Program,
        (port, queue): (u32, u32),
    ) -> Result<Option<Limit>, Error> {
        let key = entries::limit_key(program, (port, queue))?;
        let what = format!("the limit of queue {queue} of port {port}");
        for entity in self.client.read(&what, key).await? {
            if let Some(p4::entity::Entity::TableEntry(e)) = entity.entity {
                return entries::read_limit(program, &e, self.unit()).map(Some);
            }
        }
        Ok(None)
    }
}

#[async_trait]
impl SwitchReader for P4Runtime {
    fn describe(&self) -> Description {
        let o = self.client.switch();
        Description {
            driver: NAME,
            address: o.address.clone(),
            device_id: o.device_id,
            limit_unit_bytes: self.unit(),
        }
    }

    async fn read_limit(&self, port: u32) -> Result<Limit, Error> {
        self.read_queue_limit(port, 0).await
    }

    async fn read_queue_limit(&self, port: u32, queue: u32) -> Result<Limit, Error> {
        let program = self.program().await?;
        let stored = match self.stored_limit(&program, (port, queue)).await {
            // The program may have been replaced meanwhile: read it again.
            Err(Error::Rpc { .. } | Error::Value { .. }) => {
                self.forget_program().await;
                let program = self.program().await?;
                self.stored_limit(&program, (port, queue)).await?
            }
            other => other?,
        };
        // The program's default action.
        Ok(stored.unwrap_or(Limit::Unlimited))
    }

    async fn observe(&self) -> Health {
        let mut health = Health::default();
        match self.client.capabilities().await {
            Ok(version) => {
                health.connected = true;
                health.api_version = Some(version);
            }
            Err(Error::Rpc {
                code: tonic::Code::Unimplemented,
                ..
            }) => health.connected = true,
            Err(e) => {
                health.problem = Some(e.to_string());
                return health;
            }
        }
        match self.client.pipeline().await {
            Ok(Some(_)) => health.program_loaded = true,
            Ok(None) => {
                self.forget_program().await;
                health.problem = Some("no program is loaded".into());
            }
            Err(e) => health.problem = Some(e.to_string()),
        }
        health
    }

    async fn inspect(&self, expected: &Expected<'_>) -> Inspection {
        // The program may have been replaced meanwhile.
        self.forget_program().await;
        let findings = match self.program().await {
            Ok(program) => inspect::inspect(&self.client, &program, expected.plan).await,
            // `observe` reports this already.
            Err(Error::NoProgram { .. }) => Vec::new(),
            Err(e) => vec![inspect::unread("program", &e)],
        };
        Inspection {
            findings,
            ..Inspection::default()
        }
    }
}

#[async_trait]
impl Southbound for P4Runtime {
    async fn provision(
        &self,
        plan: &Provision,
        may_write: MayWriteLimit<'_>,
    ) -> Result<Provisioned, Error> {
        let limits = plan
            .limit_ports()
            .map_err(|m| Error::value("provision", m))?;
        self.client.become_primary().await?;
        self.load(plan).await?;
        let program = self.program().await?;

        let mut items = Vec::new();
        for (i, f) in plan.forward.iter().enumerate() {
            items.push(entries::forward(&program, f, &format!("forward[{i}]"))?);
        }
        if !plan.flood_ports.is_empty() {
            items.push(entries::flood_group(&plan.flood_ports));
        }
        if let Some(reports) = &plan.reports {
            items.push(entries::clone_session(reports.port));
            items.push(entries::report_to(&program, reports)?);
        }
        for &port in &plan.reports_off_ports {
            items.push(entries::report_port(&program, port, false)?);
        }
        let mut done = Provisioned::default();
        for (port, wanted) in limits {
            let in_force = match self.stored_limit(&program, (port, 0)).await? {
                Some(have) => have,
                None if may_write(port, wanted) => {
                    items.push(entries::limit(&program, (port, 0), wanted, self.unit())?);
                    done.written_ports.insert(port);
                    wanted.rounded(self.unit())
                }
                None => Limit::Unlimited,
            };
            done.limits.insert(port, in_force);
        }
        if let Some(queues) = &plan.queues {
            let uses = entries::queue_items(&program, queues)?;
            self.drop_others(&program, &[QUEUE_TABLE], &uses).await?;
            items.extend(uses);
        }
        let watches = entries::watch_items(&program, &plan.watch)?;
        self.drop_others(&program, &WATCH_TABLES, &watches).await?;
        // Watch entries last: nothing is reported before reports have a destination.
        items.extend(watches);
        done.entries = self.client.put(&items).await?;
        done.pushed = self.push_untold.swap(false, Ordering::Relaxed);
        Ok(done)
    }

    async fn set_limit(&self, port: u32, limit: Limit) -> Result<Limit, Error> {
        self.set_queue_limit(port, 0, limit).await
    }

    async fn set_queue_limit(&self, port: u32, queue: u32, limit: Limit) -> Result<Limit, Error> {
        let program = self.program().await?;
        let item = entries::limit(&program, (port, queue), limit, self.unit())?;
        self.client.put(&[item]).await?;
        let wanted = limit.rounded(self.unit());
        let found = self.read_queue_limit(port, queue).await?;
        read_back(&self.client.switch().address, port, wanted, found)
    }

    async fn report_port(&self, port: u32, on: bool) -> Result<(), Error> {
        let program = self.program().await?;
        let item = entries::report_port(&program, port, on)?;
        self.client.put(&[item]).await.map(|_| ())
    }

    async fn health(&self) -> Health {
        // Requesting the role first opens a new stream if the old one ended.
        let primary = self.client.become_primary().await;
        let mut health = self.observe().await;
        if !health.connected {
            return health;
        }
        match primary {
            Ok(()) => health.primary = true,
            Err(e) => health.problem = Some(e.to_string()),
        }
        health
    }
}
