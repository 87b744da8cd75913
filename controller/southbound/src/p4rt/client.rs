// SPDX-License-Identifier: Apache-2.0
//! Connection to a P4Runtime server: arbitration, calls, errors in words.

use super::entries::Item;
use crate::{Error, UpdateFailure};
use prost::Message as _;
use std::time::Duration;
use tidemark_proto::google::rpc;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::p4_runtime_client::P4RuntimeClient;
use tokio::sync::{Mutex, mpsc, watch};
use tokio::task::JoinHandle;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};

const MAX_MESSAGE_BYTES: usize = 64 << 20;

/// How to reach a switch.
#[derive(Clone, Debug)]
pub struct Options {
    /// `http://host:port`; the scheme may be left out.
    pub address: String,
    /// Device id within that server.
    pub device_id: u64,
    /// Low half of our election id; the highest one may write.
    pub election_id: u64,
    /// Bytes per unit of the target's limit (1 where it counts bytes).
    pub limit_unit_bytes: u32,
    /// How long one call may take.
    pub timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            address: "127.0.0.1:9559".into(),
            device_id: 1,
            election_id: 1,
            limit_unit_bytes: 1,
            timeout: Duration::from_secs(10),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Role {
    Waiting,
    Primary,
    Backup(String),
    Closed(Status2),
}

/// A status that can be compared and cloned cheaply.
#[derive(Clone, Debug, PartialEq)]
struct Status2 {
    code: Code,
    message: String,
}

struct Session {
    // Dropping the sender ends our half of the stream.
    _requests: mpsc::Sender<p4::StreamMessageRequest>,
    role: watch::Receiver<Role>,
    task: JoinHandle<()>,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// One server. Cheap to keep; connects when used and again after failures.
pub struct Client {
    options: Options,
    rpc: P4RuntimeClient<Channel>,
    session: Mutex<Option<Session>>,
}

impl Client {
    /// Checks the address; no I/O. Needs a tokio runtime.
    ///
    /// # Errors
    /// An address that is not `host:port` or a URL.
    pub fn new(mut options: Options) -> Result<Self, Error> {
        if !options.address.contains("://") {
            options.address = format!("http://{}", options.address);
        }
        let endpoint = Endpoint::from_shared(options.address.clone())
            .map_err(|e| {
                Error::value(
                    "address",
                    format!("\"{}\" is not like 127.0.0.1:9559: {e}", options.address),
                )
            })?
            .connect_timeout(options.timeout)
            .http2_keep_alive_interval(Duration::from_secs(10))
            .keep_alive_while_idle(true);
        let rpc = P4RuntimeClient::new(endpoint.connect_lazy())
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES);
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

    fn election_id(&self) -> Option<p4::Uint128> {
        Some(p4::Uint128 {
            high: 0,
            low: self.options.election_id,
        })
    }

    fn rpc_error(&self, operation: &str, status: &Status) -> Error {
        self.status_error(operation, status.code(), status.message())
    }

    fn status_error(&self, operation: &str, code: Code, message: &str) -> Error {
        let address = self.options.address.clone();
        match code {
            Code::Unavailable => Error::Connect {
                address,
                reason: message.into(),
            },
            _ => Error::Rpc {
                address,
                operation: operation.into(),
                code,
                message: message.into(),
            },
        }
    }

    async fn in_time<T>(
        &self,
        operation: &str,
        call: impl Future<Output = Result<T, Status>>,
    ) -> Result<T, Error> {
        match tokio::time::timeout(self.options.timeout, call).await {
            Ok(Ok(v)) => Ok(v),
            Ok(Err(status)) => Err(self.rpc_error(operation, &status)),
            Err(_) => Err(self.status_error(
                operation,
                Code::DeadlineExceeded,
                &format!("no answer within {:?}", self.options.timeout),
            )),
        }
    }

    /// Makes sure that our stream is open and that we are the primary.
    ///
    /// # Errors
    /// [`Error::Connect`], [`Error::NotPrimary`], or what the server said.
    pub async fn become_primary(&self) -> Result<(), Error> {
        let mut session = self.session.lock().await;
        let stale = match session.as_ref() {
            Some(s) => matches!(*s.role.borrow(), Role::Closed(_)),
            None => true,
        };
        if stale {
            *session = Some(self.open_session().await?);
        }
        let Some(s) = session.as_mut() else {
            return Ok(());
        };
        let decided = tokio::time::timeout(
            self.options.timeout,
            s.role.wait_for(|r| *r != Role::Waiting),
        );
        let role = match decided.await {
            Ok(Ok(role)) => role.clone(),
            Ok(Err(_)) => Role::Closed(Status2 {
                code: Code::Unavailable,
                message: "the stream ended".into(),
            }),
            Err(_) => Role::Closed(Status2 {
                code: Code::DeadlineExceeded,
                message: "no answer to the arbitration".into(),
            }),
        };
        match role {
            Role::Primary | Role::Waiting => Ok(()),
            Role::Backup(reason) => Err(self.not_primary(reason)),
            Role::Closed(status) => {
                *session = None;
                Err(match status.code {
                    // Another stream of the same election id.
                    Code::InvalidArgument => self.not_primary(status.message),
                    code => self.status_error("arbitration", code, &status.message),
                })
            }
        }
    }

    fn not_primary(&self, reason: String) -> Error {
        Error::NotPrimary {
            address: self.options.address.clone(),
            election_id: self.options.election_id,
            reason,
        }
    }

    async fn open_session(&self) -> Result<Session, Error> {
        let (requests, rx) = mpsc::channel(4);
        let hello = p4::StreamMessageRequest {
            update: Some(p4::stream_message_request::Update::Arbitration(
                p4::MasterArbitrationUpdate {
                    device_id: self.options.device_id,
                    role: None,
                    election_id: self.election_id(),
                    status: None,
                },
            )),
        };
        // The channel is empty, so this cannot fail.
        let _ = requests.try_send(hello);
        let mut rpc = self.rpc.clone();
        let call = rpc.stream_channel(ReceiverStream::new(rx));
        let mut answers = self.in_time("arbitration", call).await?.into_inner();
        let (set, role) = watch::channel(Role::Waiting);
        let address = self.options.address.clone();
        let task = tokio::spawn(async move {
            loop {
                let closed = match answers.message().await {
                    Ok(Some(answer)) => {
                        if let Some(role) = role_of(answer) {
                            tracing::debug!(%address, ?role, "arbitration");
                            let _ = set.send(role);
                        }
                        continue;
                    }
                    Ok(None) => Status2 {
                        code: Code::Unavailable,
                        message: "the switch closed the stream".into(),
                    },
                    Err(s) => Status2 {
                        code: s.code(),
                        message: s.message().into(),
                    },
                };
                let _ = set.send(Role::Closed(closed));
                return;
            }
        });
        Ok(Session {
            _requests: requests,
            role,
            task,
        })
    }

    /// Whether we are the primary as far as is known; no I/O.
    pub async fn is_primary(&self) -> bool {
        let session = self.session.lock().await;
        session
            .as_ref()
            .is_some_and(|s| *s.role.borrow() == Role::Primary)
    }

    /// API version of the server.
    pub async fn capabilities(&self) -> Result<String, Error> {
        let request = p4::CapabilitiesRequest {
            device_id: self.options.device_id,
        };
        let mut rpc = self.rpc.clone();
        let answer = self.in_time("capabilities", rpc.capabilities(request));
        Ok(answer.await?.into_inner().p4runtime_api_version)
    }

    /// P4Info and cookie of the loaded program; `None` when there is none.
    pub async fn pipeline(&self) -> Result<Option<p4::ForwardingPipelineConfig>, Error> {
        use p4::get_forwarding_pipeline_config_request::ResponseType;
        let request = p4::GetForwardingPipelineConfigRequest {
            device_id: self.options.device_id,
            response_type: ResponseType::P4infoAndCookie as i32,
        };
        let mut rpc = self.rpc.clone();
        let call = rpc.get_forwarding_pipeline_config(request);
        match self.in_time("reading the program", call).await {
            Ok(r) => {
                let config = r.into_inner().config;
                Ok(config.filter(|c| c.p4info.as_ref().is_some_and(|i| !i.tables.is_empty())))
            }
            // What PI answers when nothing has been pushed yet.
            Err(Error::Rpc {
                code: Code::FailedPrecondition,
                ..
            }) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Pushes a program; clears all state of the switch.
    pub async fn push(&self, config: p4::ForwardingPipelineConfig) -> Result<(), Error> {
        use p4::set_forwarding_pipeline_config_request::Action;
        self.become_primary().await?;
        let request = p4::SetForwardingPipelineConfigRequest {
            device_id: self.options.device_id,
            election_id: self.election_id(),
            action: Action::VerifyAndCommit as i32,
            config: Some(config),
            ..Default::default()
        };
        let mut rpc = self.rpc.clone();
        let call = rpc.set_forwarding_pipeline_config(request);
        self.in_time("pushing the program", call).await?;
        Ok(())
    }

    /// Writes items whether or not they exist yet; returns how many.
    pub async fn put(&self, items: &[Item]) -> Result<usize, Error> {
        use p4::update::Type;
        let kinds: Vec<Type> = items
            .iter()
            .map(|i| {
                if i.modify_only {
                    Type::Modify
                } else {
                    Type::Insert
                }
            })
            .collect();
        let refused = self.write(items, &kinds).await?;
        let (exist, bad): (Vec<_>, Vec<_>) = refused
            .into_iter()
            .partition(|(i, f)| kinds[*i] == Type::Insert && f.code == Code::AlreadyExists as i32);
        let mut failures: Vec<UpdateFailure> = bad.into_iter().map(|(_, f)| f).collect();
        if !exist.is_empty() {
            let again: Vec<Item> = exist.iter().map(|(i, _)| items[*i].clone()).collect();
            let kinds = vec![Type::Modify; again.len()];
            let refused = self.write(&again, &kinds).await?;
            failures.extend(refused.into_iter().map(|(_, f)| f));
        }
        self.unless_failed(failures)?;
        Ok(items.len())
    }

    /// Deletes entries; those already gone are no error.
    pub async fn delete(&self, items: &[Item]) -> Result<(), Error> {
        let kinds = vec![p4::update::Type::Delete; items.len()];
        let refused = self.write(items, &kinds).await?;
        let failures = refused
            .into_iter()
            .map(|(_, f)| f)
            .filter(|f| f.code != Code::NotFound as i32)
            .collect();
        self.unless_failed(failures)
    }

    fn unless_failed(&self, failures: Vec<UpdateFailure>) -> Result<(), Error> {
        if failures.is_empty() {
            return Ok(());
        }
        Err(Error::Write {
            address: self.options.address.clone(),
            failures,
        })
    }

    /// One batch; returns the refused updates by index.
    async fn write(
        &self,
        items: &[Item],
        kinds: &[p4::update::Type],
    ) -> Result<Vec<(usize, UpdateFailure)>, Error> {
        if items.is_empty() {
            return Ok(Vec::new());
        }
        self.become_primary().await?;
        let updates = items.iter().zip(kinds).map(|(item, kind)| p4::Update {
            r#type: *kind as i32,
            entity: Some(item.entity.clone()),
        });
        let request = p4::WriteRequest {
            device_id: self.options.device_id,
            election_id: self.election_id(),
            updates: updates.collect(),
            ..Default::default()
        };
        let mut rpc = self.rpc.clone();
        match tokio::time::timeout(self.options.timeout, rpc.write(request)).await {
            Ok(Ok(_)) => Ok(Vec::new()),
            Ok(Err(status)) => match update_errors(&status, items) {
                Some(refused) => Ok(refused),
                None if status.code() == Code::PermissionDenied => {
                    Err(self.not_primary(status.message().into()))
                }
                None => Err(self.rpc_error(&format!("writing {}", items[0].what), &status)),
            },
            Err(_) => Err(self.status_error(
                &format!("writing {}", items[0].what),
                Code::DeadlineExceeded,
                "no answer in time",
            )),
        }
    }

    /// Reads entities; a missing one gives an empty list.
    pub async fn read(&self, what: &str, entity: p4::Entity) -> Result<Vec<p4::Entity>, Error> {
        let request = p4::ReadRequest {
            device_id: self.options.device_id,
            entities: vec![entity],
            ..Default::default()
        };
        let operation = format!("reading {what}");
        let mut rpc = self.rpc.clone();
        let call = async move {
            let mut stream = rpc.read(request).await?.into_inner();
            let mut all = Vec::new();
            while let Some(part) = stream.message().await? {
                all.extend(part.entities);
            }
            Ok(all)
        };
        match self.in_time(&operation, call).await {
            Err(Error::Rpc {
                code: Code::NotFound,
                ..
            }) => Ok(Vec::new()),
            other => other,
        }
    }
}

fn role_of(answer: p4::StreamMessageResponse) -> Option<Role> {
    let Some(p4::stream_message_response::Update::Arbitration(a)) = answer.update else {
        return None;
    };
    let status = a.status.unwrap_or_default();
    Some(match Code::from_i32(status.code) {
        Code::Ok => Role::Primary,
        code => {
            let highest = a
                .election_id
                .map(|e| u128::from(e.high) << 64 | u128::from(e.low));
            let highest = highest.map_or_else(|| "none".into(), |e| e.to_string());
            Role::Backup(format!(
                "{code:?}: {}; highest election id {highest}",
                status.message
            ))
        }
    })
}

/// The per-update errors inside a failed write; `None` when the call failed as
/// a whole.
fn update_errors(status: &Status, items: &[Item]) -> Option<Vec<(usize, UpdateFailure)>> {
    if status.details().is_empty() {
        return None;
    }
    let inner = rpc::Status::decode(status.details()).ok()?;
    if inner.details.is_empty() {
        return None;
    }
    let errors = inner.details.iter().enumerate().filter_map(|(i, any)| {
        let error = p4::Error::decode(any.value.as_slice()).ok()?;
        let update = items.get(i)?.what.clone();
        (error.canonical_code != 0).then_some((
            i,
            UpdateFailure {
                update,
                code: error.canonical_code,
                message: error.message,
            },
        ))
    });
    Some(errors.collect())
}
