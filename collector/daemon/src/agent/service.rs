// SPDX-License-Identifier: Apache-2.0
//! The collector's side: batches of agents, each taken once.

use super::convert::event_of;
use crate::engine::Input;
use futures::StreamExt;
use futures::stream::BoxStream;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tidemark_proto::telemetry::agent_server::Agent;
use tidemark_proto::telemetry::{AgentAck, AgentBatch};
use tonic::{Request, Response, Status, Streaming};

/// Agents remembered, also those that are gone.
const MAX_AGENTS: usize = 1024;
const MAX_NAME: usize = 64;

/// An agent as the status shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AgentStatus {
    pub host: String,
    /// Number of its last batch.
    pub batches: u64,
    pub events: u64,
    /// Batches that came again and were left out.
    pub repeated: u64,
    /// Batches that never came: the agent gave them up.
    pub missing: u64,
    /// Lost in rings of its kernel, as it tells.
    pub ring_lost: u64,
    /// Lost for lack of room in its buffer, as it tells.
    pub buffer_lost: u64,
    /// Events that could not be understood.
    pub malformed: u64,
}

/// All agents, by instance.
#[derive(Clone, Default)]
pub struct Agents(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    agents: BTreeMap<String, AgentStatus>,
    /// Gone when the collector ends.
    sender: Option<SyncSender<Input>>,
}

impl Agents {
    /// Agents whose events go to `sender`.
    pub fn new(sender: SyncSender<Input>) -> Self {
        Self(Arc::new(Mutex::new(State {
            agents: BTreeMap::new(),
            sender: Some(sender),
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes nothing more; the engine can end.
    pub fn close(&self) {
        self.state().sender = None;
    }

    pub fn status(&self) -> Vec<AgentStatus> {
        self.state().agents.values().cloned().collect()
    }

    /// Takes a batch; waits while the engine is busy. The lock is not held
    /// meanwhile, and one agent's batches come one after the other.
    fn take(&self, batch: &AgentBatch) -> Result<(), Status> {
        if batch.host.is_empty() || batch.host.len() > MAX_NAME || batch.instance.len() > MAX_NAME {
            return Err(Status::invalid_argument(format!(
                "host: a name of 1 to {MAX_NAME} bytes is needed"
            )));
        }
        let sender = {
            let mut state = self.state();
            let sender = state
                .sender
                .clone()
                .ok_or_else(|| Status::unavailable("the collector is ending"))?;
            if !state.agents.contains_key(&batch.instance) && state.agents.len() >= MAX_AGENTS {
                return Err(Status::resource_exhausted(format!(
                    "{MAX_AGENTS} agents are known already"
                )));
            }
            let agent = state.agents.entry(batch.instance.clone()).or_default();
            agent.host.clone_from(&batch.host);
            agent.ring_lost = agent.ring_lost.max(batch.ring_lost);
            agent.buffer_lost = agent.buffer_lost.max(batch.buffer_lost);
            if batch.sequence <= agent.batches {
                agent.repeated += 1;
                return Ok(());
            }
            // An agent from before this collector's start begins in the middle.
            if agent.batches > 0 {
                agent.missing += batch.sequence - agent.batches - 1;
            }
            agent.batches = batch.sequence;
            sender
        };
        let events: Vec<tcp_probe::Event> = batch.events.iter().filter_map(event_of).collect();
        {
            let mut state = self.state();
            if let Some(agent) = state.agents.get_mut(&batch.instance) {
                agent.events += events.len() as u64;
                agent.malformed += (batch.events.len() - events.len()) as u64;
            }
        }
        sender
            .send(Input::HostEvents {
                host: batch.host.clone(),
                events,
            })
            .map_err(|_| Status::unavailable("the collector is ending"))
    }
}

/// Takes the batches of agents.
pub struct AgentService(pub Agents);

#[tonic::async_trait]
impl Agent for AgentService {
    type PushStream = BoxStream<'static, Result<AgentAck, Status>>;

    async fn push(
        &self,
        request: Request<Streaming<AgentBatch>>,
    ) -> Result<Response<Self::PushStream>, Status> {
        let peer = request.remote_addr();
        tracing::info!(?peer, "agent connected");
        let agents = self.0.clone();
        let acks = request.into_inner().then(move |batch| {
            let agents = agents.clone();
            async move {
                let batch = batch?;
                let sequence = batch.sequence;
                tokio::task::spawn_blocking(move || agents.take(&batch))
                    .await
                    .map_err(|e| Status::internal(e.to_string()))??;
                Ok(AgentAck { sequence })
            }
        });
        Ok(Response::new(acks.boxed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::sync_channel;

    #[test]
    fn every_number_is_taken_once() {
        let (sender, inputs) = sync_channel(16);
        let agents = Agents::new(sender);
        let batch = |sequence| AgentBatch {
            host: "a".into(),
            instance: "i".into(),
            sequence,
            buffer_lost: sequence,
            ..AgentBatch::default()
        };
        // 7 and 8 were never sent.
        for sequence in [5, 6, 6, 5, 9] {
            agents.take(&batch(sequence)).unwrap();
        }
        assert_eq!(inputs.try_iter().count(), 3);
        let status = &agents.status()[0];
        assert_eq!((status.repeated, status.missing), (2, 2));
        assert_eq!((status.batches, status.buffer_lost), (9, 9));
        assert!(agents.take(&AgentBatch::default()).is_err());
        agents.close();
        assert!(agents.take(&batch(10)).is_err());
        assert!(inputs.recv().is_err(), "the engine would never end");
    }
}
