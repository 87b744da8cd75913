// SPDX-License-Identifier: Apache-2.0
//! [`Southbound`] over BFRT.

use super::client::{ALL_PIPES, Client, Item};
use super::config::{Config, Queue};
use super::entries;
use super::info::Info;
use super::inspect;
use super::queue;
use crate::driver_kind::SwitchAddress;
use crate::rpc::read_back;
use crate::{
    Description, Error, Expected, Health, Inspection, Limit, MayWriteLimit, Provision, Provisioned,
    PushMode, Southbound, SwitchReader,
};
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Name of the driver in the list of drivers and in a configuration.
pub(super) const NAME: &str = "bfrt";

/// A Tofino switch.
pub struct Bfrt {
    client: Client,
    /// Queues whose limit the traffic manager holds instead of the program, by port and queue.
    queues: BTreeMap<(u32, u32), Queue>,
}

impl Bfrt {
    /// Creates the driver; it connects on first use. Needs a tokio runtime.
    ///
    /// # Errors
    /// An address that is not `host:port` or a URL, or a number that is too large for BFRT.
    pub fn new(switch: SwitchAddress, config: Config) -> Result<Self, Error> {
        Ok(Self {
            queues: config.of_ports()?,
            client: Client::new(switch, config)?,
        })
    }

    /// Reads the limit; `None` if there is no entry.
    async fn stored_limit(
        &self,
        info: &Info,
        (port, queue): (u32, u32),
    ) -> Result<Option<Limit>, Error> {
        let cells = self.client.cell_bytes();
        if let Some(q) = self.queues.get(&(port, queue)) {
            let share = queue::read(&self.client, info, q).await?;
            return Ok(Some(share.limit(cells)));
        }
        if queue != 0 {
            return Err(Error::QueueLimit { port, queue });
        }
        let what = format!("the limit of port {port}");
        let key = entries::limit_key(info, port)?;
        let found = self.client.read(info, ALL_PIPES, &what, key, false).await?;
        found
            .map(|e| entries::read_limit(info, &e, cells))
            .transpose()
    }

    /// Returns the pipe, the entry to write for a limit, and the limit that results.
    async fn planned(
        &self,
        info: &Info,
        (port, queue): (u32, u32),
        limit: Limit,
    ) -> Result<(u32, Item, Limit), Error> {
        let cells = self.client.cell_bytes();
        match self.queues.get(&(port, queue)) {
            Some(q) => {
                let (item, held) = queue::plan(&self.client, info, q, limit).await?;
                Ok((q.pipe, item, held))
            }
            None if queue != 0 => Err(Error::QueueLimit { port, queue }),
            None => {
                let item = entries::limit(info, port, limit, cells)?;
                Ok((ALL_PIPES, item, limit.rounded(cells)))
            }
        }
    }
}

#[async_trait]
impl SwitchReader for Bfrt {
    fn describe(&self) -> Description {
        let switch = &self.client.server().switch;
        Description {
            driver: NAME,
            address: switch.address.clone(),
            device_id: switch.device_id,
            limit_unit_bytes: self.client.cell_bytes(),
        }
    }

    async fn read_limit(&self, port: u32) -> Result<Limit, Error> {
        self.read_queue_limit(port, 0).await
    }

    async fn read_queue_limit(&self, port: u32, queue: u32) -> Result<Limit, Error> {
        let info = self.client.bound().await?;
        let stored = self.stored_limit(&info, (port, queue)).await?;
        // The program's default action.
        Ok(stored.unwrap_or(Limit::Unlimited))
    }

    /// BFRT answers nothing before a client has subscribed and bound to the program; neither
    /// changes the switch.
    async fn observe(&self) -> Health {
        match self.client.bound().await {
            Ok(_) => Health {
                connected: true,
                primary: true,
                program_loaded: true,
                ..Health::default()
            },
            Err(e) => {
                let shut_out = e.is_shut_out();
                Health {
                    connected: !shut_out,
                    primary: !shut_out && !matches!(e, Error::NotPrimary { .. }),
                    problem: Some(e.to_string()),
                    ..Health::default()
                }
            }
        }
    }

    async fn inspect(&self, expected: &Expected<'_>) -> Inspection {
        inspect::inspect(&self.client, &self.queues, expected).await
    }
}

#[async_trait]
impl Southbound for Bfrt {
    async fn provision(
        &self,
        plan: &Provision,
        may_write: MayWriteLimit<'_>,
    ) -> Result<Provisioned, Error> {
        if plan.push == PushMode::Always || plan.program.is_some() || plan.p4info.is_some() {
            return Err(Error::value(
                "provision.program",
                "a program is not pushed over BFRT: start the switch daemon with it, and leave p4info and program out",
            ));
        }
        if plan.queues.is_some() {
            return Err(Error::value(
                "provision.queues",
                "the switch's program assigns packets to queues by its own tables: leave queues out",
            ));
        }
        let limits = plan
            .limit_ports()
            .map_err(|m| Error::value("provision", m))?;
        let info: Arc<Info> = self.client.bound().await?;
        let mut items = Vec::new();
        if !plan.flood_ports.is_empty() {
            items.extend(entries::flood_group(&info, &plan.flood_ports)?);
        }
        for (i, f) in plan.forward.iter().enumerate() {
            items.push(entries::forward(&info, f, &format!("forward[{i}]"))?);
        }
        if let Some(reports) = &plan.reports {
            items.extend(entries::mirror_sessions(&info, reports.port)?);
            items.push(entries::report_to(&info, reports)?);
        }
        for &port in &plan.reports_off_ports {
            items.push(entries::report_port(&info, port, false)?);
        }
        // Watch entries last: nothing is reported before reports have a destination.
        for (i, w) in plan.watch.iter().enumerate() {
            let field = format!("watch[{i}]");
            items.extend(entries::watch(&info, w, i as u64 + 1, &field)?);
        }
        let mut done = Provisioned::default();
        for (port, wanted) in limits {
            // The traffic manager's entries always exist, and float until a limit is set.
            let in_manager = self.queues.contains_key(&(port, 0));
            let ours = match in_manager {
                true => None,
                false => self.stored_limit(&info, (port, 0)).await?,
            };
            if let Some(have) = ours {
                done.limits.insert(port, have);
                continue;
            }
            let (pipe, item, held) = self.planned(&info, (port, 0), wanted).await?;
            if may_write(port, held) {
                self.client.write(&info, pipe, &[item]).await?;
                done.entries += 1;
                done.written_ports.insert(port);
                done.limits.insert(port, held);
            } else if !in_manager {
                done.limits.insert(port, Limit::Unlimited);
            }
        }
        self.client.write(&info, ALL_PIPES, &items).await?;
        done.entries += items.len();
        Ok(done)
    }

    async fn set_limit(&self, port: u32, limit: Limit) -> Result<Limit, Error> {
        self.set_queue_limit(port, 0, limit).await
    }

    async fn set_queue_limit(&self, port: u32, queue: u32, limit: Limit) -> Result<Limit, Error> {
        let info = self.client.bound().await?;
        let (pipe, item, wanted) = self.planned(&info, (port, queue), limit).await?;
        self.client.write(&info, pipe, &[item]).await?;
        let found = self.read_queue_limit(port, queue).await?;
        read_back(&self.client.server().switch.address, port, wanted, found)
    }

    async fn report_port(&self, port: u32, on: bool) -> Result<(), Error> {
        let info = self.client.bound().await?;
        let item = entries::report_port(&info, port, on)?;
        self.client.write(&info, ALL_PIPES, &[item]).await
    }

    async fn health(&self) -> Health {
        self.observe().await
    }
}
