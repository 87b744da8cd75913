// SPDX-License-Identifier: Apache-2.0
//! Connection to a BFRT server: subscribe, bind, then read and write.

mod session;

use crate::bfrt::config::{Config, Server};
use crate::bfrt::info::Info;
use crate::driver_kind::SwitchAddress;
use crate::{Error, UpdateFailure};
use daemon_kit::credentials::CallerChannel;
use session::Session;
use std::sync::Arc;
use tidemark_proto::bfrt_proto as bf;
use tidemark_proto::bfrt_proto::bf_runtime_client::BfRuntimeClient;
use tokio::sync::Mutex;
use tonic::{Code, Status};

const MAX_MESSAGE_BYTES: usize = 64 << 20;
/// All pipes, both directions, all parsers.
pub(super) const ALL_PIPES: u32 = 0xffff;
const BOTH: u32 = 0xff;

/// A write, and how it reads in an error message.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// Words for messages.
    pub what: String,
    /// What goes on the wire.
    pub entry: bf::TableEntry,
    /// Insert, modify, or both.
    pub kind: bf::update::Type,
}

/// A client of one server. Connects when used, and again after failures.
pub(super) struct Client {
    server: Server,
    rpc: BfRuntimeClient<CallerChannel>,
    session: Mutex<Option<Session>>,
}

impl Client {
    /// Checks the address; no I/O. Needs a tokio runtime.
    pub(super) fn new(mut switch: SwitchAddress, config: Config) -> Result<Self, Error> {
        let device_id = Config::device_id(&switch)?;
        let endpoint = switch
            .endpoint("127.0.0.1:50052")?
            // Errors of every update of a batch come in the trailers.
            .http2_max_header_list_size(16 << 20);
        let rpc = BfRuntimeClient::new(switch.access.channel(endpoint.connect_lazy()))
            .max_decoding_message_size(MAX_MESSAGE_BYTES);
        Ok(Self {
            server: Server {
                switch,
                config,
                device_id,
            },
            rpc,
            session: Mutex::new(None),
        })
    }

    pub(super) fn server(&self) -> &Server {
        &self.server
    }

    /// The tables of the bound program and of the device; subscribes and binds
    /// first where that has not been done, or the stream has ended.
    pub(super) async fn bound(&self) -> Result<Arc<Info>, Error> {
        let mut session = self.session.lock().await;
        if let Some(s) = session.as_ref().filter(|s| s.is_open()) {
            return Ok(s.info());
        }
        *session = None;
        let new = Session::open(&self.server, self.rpc.clone()).await?;
        let info = new.info();
        *session = Some(new);
        Ok(info)
    }

    fn target(&self, pipe_id: u32) -> Option<bf::TargetDevice> {
        Some(bf::TargetDevice {
            device_id: self.server.device_id,
            pipe_id,
            direction: BOTH,
            prsr_id: BOTH,
        })
    }

    /// Writes items in one batch, in their order.
    ///
    /// # Errors
    /// [`Error::Write`] with every refused item, or what the server said.
    pub(super) async fn write(&self, pipe_id: u32, items: &[Item]) -> Result<(), Error> {
        if items.is_empty() {
            return Ok(());
        }
        self.bound().await?;
        let updates = items.iter().map(|i| bf::Update {
            r#type: i.kind as i32,
            entity: Some(bf::Entity {
                entity: Some(bf::entity::Entity::TableEntry(i.entry.clone())),
            }),
        });
        let request = bf::WriteRequest {
            target: self.target(pipe_id),
            client_id: self.server.config.client_id,
            updates: updates.collect(),
            p4_name: self.server.config.p4_name.clone(),
            ..Default::default()
        };
        let mut rpc = self.rpc.clone();
        let what = format!("writing {}", items[0].what);
        let answer = self
            .server
            .switch
            .in_time(&what, rpc.write(request))
            .await?
            .into_inner();
        // The call succeeds even where updates do not.
        let failed = answer.status.iter().enumerate();
        let failures: Vec<UpdateFailure> = failed
            .filter(|(_, s)| s.canonical_code != 0)
            .map(|(i, s)| UpdateFailure {
                update: items.get(i).map_or("?", |i| i.what.as_str()).into(),
                code: s.canonical_code,
                message: s.message.clone(),
            })
            .collect();
        if failures.is_empty() {
            return Ok(());
        }
        Err(Error::Write {
            address: self.server.switch.address.clone(),
            failures,
        })
    }

    /// Reads one entry, from the device rather than the daemon's copy where
    /// `from_hw`; `None` when there is none.
    pub(super) async fn read(
        &self,
        pipe_id: u32,
        what: &str,
        mut entry: bf::TableEntry,
        from_hw: bool,
    ) -> Result<Option<bf::TableEntry>, Error> {
        self.bound().await?;
        entry.table_flags = Some(bf::TableFlags { from_hw });
        let request = bf::ReadRequest {
            target: self.target(pipe_id),
            client_id: self.server.config.client_id,
            entities: vec![bf::Entity {
                entity: Some(bf::entity::Entity::TableEntry(entry)),
            }],
            p4_name: self.server.config.p4_name.clone(),
        };
        let operation = format!("reading {what}");
        let mut rpc = self.rpc.clone();
        let call = async move {
            let mut stream = rpc.read(request).await?.into_inner();
            let mut found = None;
            while let Some(part) = stream.message().await? {
                if let Some(s) = part.status.iter().find(|s| s.canonical_code != 0) {
                    return Err(Status::new(Code::from_i32(s.canonical_code), &s.message));
                }
                let entry = part.entities.into_iter().find_map(|e| e.entity);
                if let Some(bf::entity::Entity::TableEntry(e)) = entry {
                    found.get_or_insert(e);
                }
            }
            Ok(found)
        };
        match self.server.switch.in_time(&operation, call).await {
            Err(Error::Rpc {
                code: Code::NotFound,
                ..
            }) => Ok(None),
            other => other,
        }
    }
}
