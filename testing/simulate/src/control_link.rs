// SPDX-License-Identifier: Apache-2.0
//! The controller's driver over the simulated network: requests are sent as messages, and their
//! futures wait until the answer arrives.

use crate::frame::BOTTLENECK;
use async_trait::async_trait;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Poll;
use tidemark_control::Limit;
use tidemark_southbound::{
    Description, Error, Health, MayWriteLimit, Provision, Provisioned, Southbound, SwitchReader,
};

/// A request to the switch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Request {
    Health,
    /// Provision, with an initial limit for a switch that has none.
    Provision(Option<Limit>),
    Read,
    Write(Limit),
}

/// The switch's answer. `Lost`: none arrived in time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    Lost,
    Health { program: bool },
    Provisioned { limit: Limit },
    Limit(Limit),
    Written,
    Refused(String),
}

/// Requests in progress.
#[derive(Debug, Default)]
pub(crate) struct Channel {
    next: u64,
    pub(crate) outbox: Vec<(u64, Request)>,
    pub(crate) answers: BTreeMap<u64, Answer>,
    /// Finished calls of `set_limit`: successful, and failed.
    pub(crate) set: u64,
    pub(crate) failed: u64,
    /// Initial limits with a known outcome: until then their intent is open.
    pub(crate) initial_ended: u64,
    initial_open: bool,
    /// Whether the program was sent to the switch without a successful provisioning since: the
    /// driver, which sends it, knows that without an answer.
    pub(crate) push_untold: bool,
}

/// A [`Channel`] that driver and simulation share.
pub(crate) type Shared = Arc<Mutex<Channel>>;

/// The driver, which sends requests through the channel.
pub(crate) struct Driver {
    pub(crate) channel: Shared,
    pub(crate) start_limit: Limit,
}

fn failure(operation: &str, answer: Answer) -> Error {
    let (code, message) = match answer {
        Answer::Lost => (tonic::Code::DeadlineExceeded, "no answer in time".into()),
        Answer::Refused(why) => (tonic::Code::FailedPrecondition, why),
        other => (tonic::Code::Internal, format!("{other:?}")),
    };
    Error::Rpc {
        address: "simulated".into(),
        operation: operation.into(),
        code,
        message,
    }
}

impl Driver {
    async fn ask(&self, request: Request) -> Answer {
        let id = {
            let mut c = self.channel.lock();
            c.next += 1;
            let id = c.next;
            c.outbox.push((id, request));
            id
        };
        std::future::poll_fn(|_| match self.channel.lock().answers.remove(&id) {
            Some(answer) => Poll::Ready(answer),
            None => Poll::Pending,
        })
        .await
    }

    async fn ask_health(&self) -> Health {
        match self.ask(Request::Health).await {
            Answer::Health { program } => Health {
                connected: true,
                primary: true,
                program_loaded: program,
                api_version: None,
                problem: (!program).then(|| "no program is loaded".into()),
            },
            other => Health {
                problem: Some(format!("{other:?}")),
                ..Health::default()
            },
        }
    }

    async fn write(&self, port: u32, limit: Limit) -> Result<Limit, Error> {
        match self.ask(Request::Write(limit)).await {
            Answer::Written => {}
            other => return Err(failure("writing", other)),
        }
        let found = self.read_limit(port).await?;
        if found != limit {
            return Err(Error::ReadBack {
                address: "simulated".into(),
                port,
                wanted: limit,
                found,
            });
        }
        Ok(found)
    }
}

#[async_trait]
impl SwitchReader for Driver {
    fn describe(&self) -> Description {
        Description {
            driver: "p4runtime",
            address: "simulated".into(),
            device_id: 1,
            limit_unit_bytes: 1,
        }
    }

    async fn read_limit(&self, _port: u32) -> Result<Limit, Error> {
        match self.ask(Request::Read).await {
            Answer::Limit(limit) => Ok(limit),
            other => Err(failure("reading", other)),
        }
    }

    async fn observe(&self) -> Health {
        self.ask_health().await
    }
}

#[async_trait]
impl Southbound for Driver {
    /// Reads before it writes, like the real drivers.
    async fn provision(
        &self,
        _plan: &Provision,
        may_write: MayWriteLimit<'_>,
    ) -> Result<Provisioned, Error> {
        let none = match self.ask(Request::Read).await {
            Answer::Limit(held) => held == Limit::Unlimited,
            // The switch has no program.
            Answer::Refused(_) => true,
            other => return Err(failure("reading", other)),
        };
        let write = none && may_write(BOTTLENECK, self.start_limit);
        self.channel.lock().initial_open |= write;
        let limit = write.then_some(self.start_limit);
        match self.ask(Request::Provision(limit)).await {
            Answer::Provisioned { limit } => {
                let mut c = self.channel.lock();
                c.initial_ended += u64::from(std::mem::take(&mut c.initial_open));
                Ok(Provisioned {
                    pushed: std::mem::take(&mut c.push_untold),
                    entries: 5,
                    limits: [(BOTTLENECK, limit)].into(),
                    written_ports: write.then_some(BOTTLENECK).into_iter().collect(),
                })
            }
            other => Err(failure("provisioning", other)),
        }
    }

    async fn set_limit(&self, port: u32, limit: Limit) -> Result<Limit, Error> {
        let result = self.write(port, limit).await;
        let mut c = self.channel.lock();
        match &result {
            Ok(_) => c.set += 1,
            Err(_) => c.failed += 1,
        }
        drop(c);
        result
    }

    async fn report_port(&self, _port: u32, _on: bool) -> Result<(), Error> {
        Err(failure("reports", Answer::Refused("not simulated".into())))
    }

    async fn health(&self) -> Health {
        self.ask_health().await
    }
}
