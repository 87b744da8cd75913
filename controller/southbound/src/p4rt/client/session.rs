// SPDX-License-Identifier: Apache-2.0
//! The stream to the server, and who may write.

use super::Client;
use crate::Error;
use tidemark_proto::p4::v1 as p4;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Code;

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

pub(super) struct Session {
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

impl Client {
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

    pub(super) fn not_primary(&self, reason: String) -> Error {
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
