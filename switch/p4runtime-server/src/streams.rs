// SPDX-License-Identifier: Apache-2.0
//! Open streams: who is connected, and how to reach them.

use crate::arbitration::{Arbitration, Notice, StreamId};
use crate::errors::{Failure, Outcome};
use std::collections::HashMap;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::stream_message_response::Update;
use tokio::sync::mpsc;
use tonic::Status;

/// Most messages that wait for a slow client; beyond this, packets are dropped.
const OUTBOX: usize = 4_096;

pub(crate) type Outgoing = Result<p4::StreamMessageResponse, Status>;

/// Streams of the device and their arbitration.
pub(crate) struct Streams {
    arbitration: Arbitration,
    outboxes: HashMap<StreamId, mpsc::Sender<Outgoing>>,
    next: u64,
}

impl Streams {
    pub(crate) fn new(arbitration: Arbitration) -> Self {
        Self {
            arbitration,
            outboxes: HashMap::new(),
            next: 0,
        }
    }

    pub(crate) fn arbitration(&self) -> &Arbitration {
        &self.arbitration
    }

    pub(crate) fn promote_backups(&mut self) {
        self.arbitration.promotes = true;
    }

    pub(crate) fn open(&mut self) -> (StreamId, mpsc::Receiver<Outgoing>) {
        self.next += 1;
        let id = StreamId(self.next);
        let (tx, rx) = mpsc::channel(OUTBOX);
        self.outboxes.insert(id, tx);
        (id, rx)
    }

    /// Ends a stream; tells its client the reason, if there is one.
    pub(crate) fn close(&mut self, id: StreamId, reason: Option<Failure>) {
        if let (Some(outbox), Some(f)) = (self.outboxes.remove(&id), reason) {
            let _ = outbox.try_send(Err(f.into()));
        }
        let notices = self.arbitration.leave(id);
        self.send_notices(notices);
    }

    pub(crate) fn arbitrate(
        &mut self,
        id: StreamId,
        m: &p4::MasterArbitrationUpdate,
    ) -> Outcome<()> {
        if let Some(idle) = self.arbitration.gives_way(id) {
            tracing::warn!("p4runtime: all client slots are taken; an idle client is disconnected");
            let why = "all client slots are taken, and this client is not a primary; try again";
            self.close(idle, Some(Failure::exhausted(why)));
        }
        let notices = self.arbitration.update(id, m)?;
        self.send_notices(notices);
        Ok(())
    }

    pub(crate) fn send(&mut self, to: StreamId, update: Update) -> bool {
        let message = p4::StreamMessageResponse {
            update: Some(update),
        };
        self.outboxes
            .get(&to)
            .is_some_and(|o| o.try_send(Ok(message)).is_ok())
    }

    /// Sends an update to every primary client; returns how many were too slow to take it.
    pub(crate) fn tell_primaries(&mut self, update: &Update) -> u64 {
        let primaries: Vec<_> = self.arbitration.primaries().collect();
        let told = primaries
            .into_iter()
            .map(|to| self.send(to, update.clone()));
        told.filter(|taken| !taken).count() as u64
    }

    fn send_notices(&mut self, notices: Vec<Notice>) {
        let mut stuck = Vec::new();
        for n in notices {
            if !self.send(n.to, Update::Arbitration(n.update)) {
                stuck.push(n.to);
            }
        }
        // A client that reads nothing must not go on believing in an outdated role.
        for id in stuck {
            if self.outboxes.remove(&id).is_some() {
                let more = self.arbitration.leave(id);
                self.send_notices(more);
            }
        }
    }
}

/// Makes the message that tells a client that one of its messages was refused.
pub(crate) fn error(f: &Failure, details: p4::stream_error::Details) -> Update {
    Update::Error(p4::StreamError {
        canonical_code: f.code as i32,
        message: f.message.clone(),
        details: Some(details),
        ..Default::default()
    })
}
