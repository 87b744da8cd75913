// SPDX-License-Identifier: Apache-2.0
//! The stream to the server, and our role on it.

use crate::Error;
use crate::driver_kind::SwitchAddress;
use daemon_kit::credentials::{CallerChannel, explain};
use std::time::Duration;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::p4_runtime_client::P4RuntimeClient;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Code;

type Rpc = P4RuntimeClient<CallerChannel>;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Role {
    Waiting,
    Primary,
    Backup(String),
    Closed(StreamEnd),
}

/// Why the stream ended: a status that is cheap to compare and clone.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StreamEnd {
    pub code: Code,
    pub message: String,
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

impl Session {
    /// Returns whether the stream has ended.
    pub(super) fn is_closed(&self) -> bool {
        matches!(*self.role.borrow(), Role::Closed(_))
    }

    /// Waits for the server to tell our role; returns [`Role::Closed`] if it does not within
    /// `timeout`.
    pub(super) async fn decided(&mut self, timeout: Duration) -> Role {
        let decided = self.role.wait_for(|r| *r != Role::Waiting);
        match tokio::time::timeout(timeout, decided).await {
            Ok(Ok(role)) => role.clone(),
            Ok(Err(_)) => Role::Closed(StreamEnd {
                code: Code::Unavailable,
                message: "the stream ended".into(),
            }),
            Err(_) => Role::Closed(StreamEnd {
                code: Code::DeadlineExceeded,
                message: "no answer to the arbitration".into(),
            }),
        }
    }

    /// Opens the stream and requests the primary role; does not wait for the answer.
    pub(super) async fn open(switch: &SwitchAddress, mut rpc: Rpc) -> Result<Self, Error> {
        let (requests, rx) = mpsc::channel(4);
        let hello = p4::StreamMessageRequest {
            update: Some(p4::stream_message_request::Update::Arbitration(
                p4::MasterArbitrationUpdate {
                    device_id: switch.device_id,
                    role: None,
                    election_id: election_id(switch),
                    status: None,
                },
            )),
        };
        // The channel is empty, so this cannot fail.
        let _ = requests.try_send(hello);
        let call = rpc.stream_channel(ReceiverStream::new(rx));
        let mut answers = switch.in_time("arbitration", call).await?.into_inner();
        let (set, role) = watch::channel(Role::Waiting);
        let (address, shown) = (switch.address.clone(), switch.access.shown());
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
                    Ok(None) => StreamEnd {
                        code: Code::Unavailable,
                        message: "the switch closed the stream".into(),
                    },
                    Err(s) => StreamEnd {
                        code: s.code(),
                        message: explain::status(&s, shown),
                    },
                };
                let _ = set.send(Role::Closed(closed));
                return;
            }
        });
        Ok(Self {
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

pub(super) fn election_id(switch: &SwitchAddress) -> Option<p4::Uint128> {
    Some(p4::Uint128 {
        high: 0,
        low: switch.election_id,
    })
}
