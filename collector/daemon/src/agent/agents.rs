// SPDX-License-Identifier: Apache-2.0
//! Agents that the collector knows, and their batches, each of which is taken once.

use super::convert::event_of;
use crate::shards::EventSender;
use parking_lot::Mutex;
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use tidemark_proto::telemetry::AgentBatch;
use tidemark_proto::{NAME_RULE, is_name};
use tonic::Status;

/// Maximum number of agents remembered, including disconnected ones; a new agent replaces the one
/// that disconnected first.
const MAX_AGENTS: usize = 1024;
/// Maximum number of simultaneous agent connections per address.
const MAX_AGENTS_OF_ADDRESS: usize = 32;
const MAX_INSTANCE: usize = 64;

/// Status of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AgentStatus {
    /// Host name, as the agent reports it.
    pub host: String,
    /// Sequence number of the last batch taken.
    pub batches: u64,
    /// Events taken.
    pub events: u64,
    /// Batches received again and ignored.
    pub repeated: u64,
    /// Batches that never arrived: gaps in the sequence numbers.
    pub missing: u64,
    /// Events lost in the kernel's rings, as the agent reports.
    pub ring_lost: u64,
    /// Events lost because the agent's buffer was full, as the agent reports.
    pub buffer_lost: u64,
    /// Events that could not be decoded.
    pub malformed: u64,
}

/// All agents, by instance.
#[derive(Clone, Default)]
pub struct Agents(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    agents: BTreeMap<String, Remembered>,
    connected: BTreeMap<IpAddr, usize>,
    /// Number of disconnections so far; the smallest `gone` marks the oldest one.
    disconnections: u64,
    /// Sender to the engines; `None` once the collector is ending.
    sender: Option<EventSender>,
}

#[derive(Default)]
struct Remembered {
    status: AgentStatus,
    streams: usize,
    gone: u64,
}

impl State {
    /// Returns the entry of an agent; `None` if all entries belong to connected agents.
    fn place(&mut self, instance: &str) -> Option<&mut Remembered> {
        if !self.agents.contains_key(instance) && self.agents.len() >= MAX_AGENTS {
            let gone = self.agents.iter().filter(|(_, a)| a.streams == 0);
            let longest = gone.min_by_key(|(_, a)| a.gone)?.0.clone();
            self.agents.remove(&longest);
        }
        Some(self.agents.entry(instance.to_owned()).or_default())
    }
}

/// Connection of an agent; all its batches are from one instance and host.
pub(super) struct Connection {
    agents: Agents,
    peer: Option<IpAddr>,
    agent: Mutex<Option<(String, String)>>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut state = self.agents.0.lock();
        let agent = self.agent.get_mut();
        state.disconnections += 1;
        let now = state.disconnections;
        if let Some((instance, _)) = agent
            && let Some(agent) = state.agents.get_mut(instance)
        {
            agent.streams -= 1;
            agent.gone = now;
        }
        if let Some(peer) = self.peer
            && let Some(count) = state.connected.get_mut(&peer)
        {
            *count -= 1;
            if *count == 0 {
                state.connected.remove(&peer);
            }
        }
    }
}

impl Agents {
    /// Creates an empty list of agents, whose events go to `sender`.
    pub fn new(sender: EventSender) -> Self {
        Self(Arc::new(Mutex::new(State {
            sender: Some(sender),
            ..State::default()
        })))
    }

    /// Stops taking batches, so that the engine can end.
    pub fn close(&self) {
        self.0.lock().sender = None;
    }

    /// Returns the status of every remembered agent, including disconnected ones.
    pub fn status(&self) -> Vec<AgentStatus> {
        let state = self.0.lock();
        state.agents.values().map(|a| a.status.clone()).collect()
    }

    pub(super) fn connect(&self, peer: Option<IpAddr>) -> Result<Connection, Status> {
        let mut state = self.0.lock();
        if let Some(peer) = peer {
            let count = state.connected.entry(peer).or_default();
            if *count >= MAX_AGENTS_OF_ADDRESS {
                return Err(Status::resource_exhausted(format!(
                    "{MAX_AGENTS_OF_ADDRESS} agents of {peer} are connected already"
                )));
            }
            *count += 1;
        }
        drop(state);
        Ok(Connection {
            agents: self.clone(),
            peer,
            agent: Mutex::default(),
        })
    }
}

impl Connection {
    /// Binds the connection to the agent of its first batch; refuses other agents' batches.
    fn identify(&self, batch: &AgentBatch, state: &mut State) -> Result<(), Status> {
        let mut agent = self.agent.lock();
        match &*agent {
            Some((instance, host)) if *instance == batch.instance && *host == batch.host => Ok(()),
            Some((_, host)) => Err(Status::invalid_argument(format!(
                "this connection belongs to the agent of {host}; another agent needs its own"
            ))),
            None => {
                let place = state.place(&batch.instance).ok_or_else(|| {
                    Status::resource_exhausted(format!("{MAX_AGENTS} agents are connected already"))
                })?;
                place.streams += 1;
                *agent = Some((batch.instance.clone(), batch.host.clone()));
                Ok(())
            }
        }
    }

    /// Takes a batch; waits while the engine is busy, without holding the lock. Batches of one
    /// agent are taken one after the other.
    pub(super) fn take(&self, batch: &AgentBatch) -> Result<(), Status> {
        if !is_name(&batch.host) || batch.instance.len() > MAX_INSTANCE {
            return Err(Status::invalid_argument(format!(
                "host: must be {NAME_RULE}"
            )));
        }
        let sender = {
            let mut state = self.agents.0.lock();
            let sender = state
                .sender
                .clone()
                .ok_or_else(|| Status::unavailable("the collector is ending"))?;
            self.identify(batch, &mut state)?;
            let Some(agent) = state.agents.get_mut(&batch.instance) else {
                return Err(Status::internal("the agent's place is gone"));
            };
            let agent = &mut agent.status;
            agent.host.clone_from(&batch.host);
            agent.ring_lost = agent.ring_lost.max(batch.ring_lost);
            agent.buffer_lost = agent.buffer_lost.max(batch.buffer_lost);
            if batch.sequence <= agent.batches {
                agent.repeated += 1;
                return Ok(());
            }
            // The first batch of an agent older than this collector may have any number.
            if agent.batches > 0 {
                agent.missing += batch.sequence - agent.batches - 1;
            }
            agent.batches = batch.sequence;
            sender
        };
        let events: Vec<tcp_probe::Event> = batch.events.iter().filter_map(event_of).collect();
        {
            let mut state = self.agents.0.lock();
            if let Some(agent) = state.agents.get_mut(&batch.instance) {
                agent.status.events += events.len() as u64;
                agent.status.malformed += (batch.events.len() - events.len()) as u64;
            }
        }
        sender
            .send(Some(batch.host.as_str().into()), events)
            .map_err(|e| Status::unavailable(e.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::sync_channel;

    fn batch(instance: &str, sequence: u64) -> AgentBatch {
        AgentBatch {
            host: "a".into(),
            instance: instance.into(),
            sequence,
            buffer_lost: sequence,
            ..AgentBatch::default()
        }
    }

    #[test]
    fn every_number_is_taken_once() {
        let (sender, inputs) = sync_channel(16);
        let agents = Agents::new(EventSender::new(vec![sender], None));
        let connection = agents.connect(None).unwrap();
        // 7 and 8 were never sent.
        for sequence in [5, 6, 6, 5, 9] {
            connection.take(&batch("i", sequence)).unwrap();
        }
        assert_eq!(inputs.try_iter().count(), 3);
        let status = &agents.status()[0];
        assert_eq!((status.repeated, status.missing), (2, 2));
        assert_eq!((status.batches, status.buffer_lost), (9, 9));
        assert!(connection.take(&AgentBatch::default()).is_err());
        for host in ["a\nb", "\x1b[2J", "=1+1", "a\0"] {
            let host = host.to_owned();
            let batch = AgentBatch {
                host,
                ..batch("i", 10)
            };
            let e = connection.take(&batch).unwrap_err();
            assert!(e.message().contains("letters, digits"), "{e}");
        }
        assert!(connection.take(&batch("other", 1)).is_err());
        agents.close();
        assert!(connection.take(&batch("i", 10)).is_err());
        assert!(inputs.recv().is_err(), "the engine would never end");
    }

    #[test]
    fn places_of_agents_that_are_gone_are_used_again() {
        let (sender, inputs) = sync_channel(10_000);
        let agents = Agents::new(EventSender::new(vec![sender], None));
        let honest = agents.connect(None).unwrap();
        honest.take(&batch("honest", 1)).unwrap();
        for n in 0..3 * MAX_AGENTS {
            let stranger = agents.connect(None).unwrap();
            stranger.take(&batch(&n.to_string(), 1)).unwrap();
        }
        assert_eq!(agents.status().len(), MAX_AGENTS);
        honest.take(&batch("honest", 1)).unwrap();
        let repeated: u64 = agents.status().iter().map(|a| a.repeated).sum();
        assert_eq!(repeated, 1, "the honest one is still known");
        drop(inputs);
    }

    #[test]
    fn an_address_has_a_bounded_number_of_connections() {
        let (sender, _inputs) = sync_channel(16);
        let agents = Agents::new(EventSender::new(vec![sender], None));
        let peer = Some(IpAddr::from([192, 0, 2, 1]));
        let mut all: Vec<_> = (0..MAX_AGENTS_OF_ADDRESS)
            .map(|_| agents.connect(peer).unwrap())
            .collect();
        assert!(agents.connect(peer).is_err());
        assert!(agents.connect(Some([192, 0, 2, 2].into())).is_ok());
        all.pop();
        assert!(agents.connect(peer).is_ok());
    }
}
