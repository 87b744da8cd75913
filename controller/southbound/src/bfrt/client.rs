// SPDX-License-Identifier: Apache-2.0
//! Connection to a BFRT server: subscribe, bind, then read and write.

use super::info::Info;
use crate::driver::{endpoint, in_time};
use crate::{Error, UpdateFailure};
use std::time::Duration;
use tidemark_proto::bfrt_proto as bf;
use tidemark_proto::bfrt_proto::bf_runtime_client::BfRuntimeClient;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Code, Status};

const MAX_MESSAGE_BYTES: usize = 64 << 20;
/// All pipes, both directions, all parsers.
pub const ALL_PIPES: u32 = 0xffff;
const BOTH: u32 = 0xff;

/// How to reach a switch.
#[derive(Clone, Debug)]
pub struct Options {
    /// `http://host:port`; the scheme may be left out. The usual port is 50052.
    pub address: String,
    pub device_id: u32,
    /// Of this client; no two clients of a switch may have the same.
    pub client_id: u32,
    /// The running program to bind to.
    pub p4_name: String,
    /// Bytes per cell (Tofino 80, Tofino 2 176).
    pub cell_bytes: u32,
    /// How long one call may take.
    pub timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            address: "127.0.0.1:50052".into(),
            device_id: 0,
            client_id: 1,
            p4_name: "tidemark".into(),
            cell_bytes: 80,
            timeout: Duration::from_secs(10),
        }
    }
}

/// A write, and how it reads in an error message.
#[derive(Clone, Debug)]
pub struct Item {
    pub what: String,
    pub entry: bf::TableEntry,
    pub kind: bf::update::Type,
}

struct Session {
    // Dropping the sender ends the subscription, and with it the binding.
    _requests: mpsc::Sender<bf::StreamMessageRequest>,
    reader: JoinHandle<()>,
    info: std::sync::Arc<Info>,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// One server. Connects when used, and again after failures.
pub struct Client {
    options: Options,
    rpc: BfRuntimeClient<Channel>,
    session: Mutex<Option<Session>>,
}

impl Client {
    /// Checks the address; no I/O. Needs a tokio runtime.
    ///
    /// # Errors
    /// An address that is not `host:port` or a URL.
    pub fn new(mut options: Options) -> Result<Self, Error> {
        let endpoint = endpoint(&mut options.address, "127.0.0.1:50052", options.timeout)?
            // Errors of every update of a batch come in the trailers.
            .http2_max_header_list_size(16 << 20);
        let rpc = BfRuntimeClient::new(endpoint.connect_lazy())
            .max_decoding_message_size(MAX_MESSAGE_BYTES);
        Ok(Self {
            options,
            rpc,
            session: Mutex::new(None),
        })
    }

    /// How this server is reached.
    pub fn options(&self) -> &Options {
        &self.options
    }

    async fn in_time<T>(
        &self,
        operation: &str,
        call: impl Future<Output = Result<T, Status>>,
    ) -> Result<T, Error> {
        in_time(&self.options.address, operation, self.options.timeout, call).await
    }

    /// The tables of the bound program and of the device; subscribes and binds
    /// first where that has not been done, or the stream has ended.
    ///
    /// # Errors
    /// What the server said, or a program that is not there.
    pub async fn bound(&self) -> Result<std::sync::Arc<Info>, Error> {
        let mut session = self.session.lock().await;
        if let Some(s) = session.as_ref().filter(|s| !s.reader.is_finished()) {
            return Ok(std::sync::Arc::clone(&s.info));
        }
        *session = None;
        let new = self.open().await?;
        let info = std::sync::Arc::clone(&new.info);
        *session = Some(new);
        Ok(info)
    }

    async fn open(&self) -> Result<Session, Error> {
        let o = &self.options;
        let (requests, rx) = mpsc::channel(4);
        let hello = bf::StreamMessageRequest {
            client_id: o.client_id,
            update: Some(bf::stream_message_request::Update::Subscribe(
                bf::Subscribe {
                    is_master: true,
                    device_id: o.device_id,
                    notifications: Some(bf::subscribe::Notifications::default()),
                    status: None,
                },
            )),
        };
        // The channel is empty, so this cannot fail.
        let _ = requests.try_send(hello);
        let mut rpc = self.rpc.clone();
        let call = rpc.stream_channel(ReceiverStream::new(rx));
        let mut answers = self.in_time("subscribing", call).await?.into_inner();
        let first = self.in_time("subscribing", answers.message()).await?;
        let accepted = first.and_then(|m| m.update);
        match accepted {
            Some(bf::stream_message_response::Update::Subscribe(s))
                if s.status.as_ref().is_none_or(|s| s.code == 0) => {}
            other => {
                let reason = format!(
                    "the subscription of client_id {} was refused: {other:?}",
                    o.client_id
                );
                return Err(Error::NotPrimary {
                    address: o.address.clone(),
                    election_id: u64::from(o.client_id),
                    reason,
                });
            }
        }
        let reader =
            tokio::spawn(async move { while let Ok(Some(_)) = answers.message().await {} });
        let mut rpc = self.rpc.clone();
        let bind = bf::SetForwardingPipelineConfigRequest {
            device_id: o.device_id,
            client_id: o.client_id,
            action: bf::set_forwarding_pipeline_config_request::Action::Bind as i32,
            config: vec![bf::ForwardingPipelineConfig {
                p4_name: o.p4_name.clone(),
                ..Default::default()
            }],
            ..Default::default()
        };
        let what = format!("binding to program \"{}\"", o.p4_name);
        self.in_time(&what, rpc.set_forwarding_pipeline_config(bind))
            .await?;
        let get = bf::GetForwardingPipelineConfigRequest {
            device_id: o.device_id,
            client_id: o.client_id,
        };
        let call = rpc.get_forwarding_pipeline_config(get);
        let config = self
            .in_time("reading the program", call)
            .await?
            .into_inner();
        let program = config.config.iter().find(|c| c.p4_name == o.p4_name);
        let Some(program) = program else {
            return Err(Error::Name {
                kind: "program",
                name: o.p4_name.clone(),
                known: config
                    .config
                    .iter()
                    .map(|c| c.p4_name.as_str())
                    .collect::<Vec<_>>()
                    .join(", "),
            });
        };
        let fixed = config.non_p4_config.unwrap_or_default().bfruntime_info;
        let info = Info::parse(&[&program.bfruntime_info, &fixed])?;
        Ok(Session {
            _requests: requests,
            reader,
            info: std::sync::Arc::new(info),
        })
    }

    fn target(&self, pipe_id: u32) -> Option<bf::TargetDevice> {
        Some(bf::TargetDevice {
            device_id: self.options.device_id,
            pipe_id,
            direction: BOTH,
            prsr_id: BOTH,
        })
    }

    /// Writes items in one batch, in their order.
    ///
    /// # Errors
    /// [`Error::Write`] with every refused item, or what the server said.
    pub async fn write(&self, pipe_id: u32, items: &[Item]) -> Result<(), Error> {
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
            client_id: self.options.client_id,
            updates: updates.collect(),
            p4_name: self.options.p4_name.clone(),
            ..Default::default()
        };
        let mut rpc = self.rpc.clone();
        let what = format!("writing {}", items[0].what);
        let answer = self.in_time(&what, rpc.write(request)).await?.into_inner();
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
            address: self.options.address.clone(),
            failures,
        })
    }

    /// Reads one entry, from the device rather than the daemon's copy where
    /// `from_hw`; `None` when there is none.
    ///
    /// # Errors
    /// What the server said.
    pub async fn read(
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
            client_id: self.options.client_id,
            entities: vec![bf::Entity {
                entity: Some(bf::entity::Entity::TableEntry(entry)),
            }],
            p4_name: self.options.p4_name.clone(),
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
        match self.in_time(&operation, call).await {
            Err(Error::Rpc {
                code: Code::NotFound,
                ..
            }) => Ok(None),
            other => other,
        }
    }
}
