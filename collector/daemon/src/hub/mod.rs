// SPDX-License-Identifier: Apache-2.0
//! Updates from the pipeline to every subscriber, each through a queue that is
//! bounded in messages and in bytes. Subscribers share the updates that wait:
//! one that does not read costs no more than the slowest.

mod queue;

use prost::Message;
use queue::Sender;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thiserror::Error;
use tidemark_proto::telemetry::{ClockMapping, FlowInfo, Update};

pub use queue::Receiver;

/// Subscribers at once: controllers, and somebody who looks.
const MAX_SUBSCRIBERS: usize = 64;
/// Flows per message of the first list: keeps messages below gRPC's 4 MiB.
const FLOWS_PER_MESSAGE: usize = 8192;

/// Why a subscriber is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{MAX_SUBSCRIBERS} subscribers are there already; end one, or ask another collector")]
pub struct TooManySubscribers;

#[derive(Default)]
struct State {
    flows: BTreeMap<u64, FlowInfo>,
    clocks: Vec<ClockMapping>,
    subscribers: Vec<Subscriber>,
    closed: bool,
    lost: u64,
    refused: u64,
}

struct Subscriber {
    name: String,
    sender: Sender,
}

/// A subscriber as the status shows it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SubscriberStatus {
    pub name: String,
    pub updates: u64,
    pub lost: u64,
}

/// Gives every update to every subscriber.
pub struct Hub {
    state: Mutex<State>,
    max_flows: usize,
}

impl Hub {
    /// `max_flows`: flows that a new subscriber is told about.
    pub fn new(max_flows: usize) -> Self {
        Self {
            state: Mutex::default(),
            max_flows,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends an update to everybody.
    pub fn publish(&self, update: Update) {
        let mut guard = self.state();
        let state = &mut *guard;
        for flow in &update.flows {
            state.flows.insert(flow.flow_id, flow.clone());
        }
        while state.flows.len() > self.max_flows {
            state.flows.pop_first();
        }
        for clock in &update.clocks {
            let known = state
                .clocks
                .iter_mut()
                .find(|c| c.node_id == clock.node_id && c.host == clock.host);
            match known {
                Some(c) => c.clone_from(clock),
                None => state.clocks.push(clock.clone()),
            }
        }
        if state.subscribers.is_empty() {
            return;
        }
        let bytes = update.encoded_len();
        let update = Arc::new(update);
        let lost = &mut state.lost;
        state.subscribers.retain_mut(|s| {
            let before = s.sender.lost();
            let stays = s.sender.send(&update, bytes);
            *lost += s.sender.lost() - before;
            stays
        });
    }

    /// A new subscriber; its first messages carry all flows known.
    ///
    /// # Errors
    /// When there are too many.
    pub fn subscribe(&self, name: &str) -> Result<Receiver, TooManySubscribers> {
        let mut state = self.state();
        state.subscribers.retain(|s| !s.sender.is_closed());
        if state.subscribers.len() >= MAX_SUBSCRIBERS {
            state.refused += 1;
            return Err(TooManySubscribers);
        }
        let flows: Vec<FlowInfo> = state.flows.values().cloned().collect();
        let mut first: Vec<Update> = flows
            .chunks(FLOWS_PER_MESSAGE)
            .map(|chunk| Update {
                flows: chunk.to_vec(),
                ..Update::default()
            })
            .collect();
        if first.is_empty() {
            first.push(Update::default());
        }
        if let Some(first) = first.first_mut() {
            first.clocks.clone_from(&state.clocks);
        }
        let (sender, receiver) = queue::channel(first);
        if !state.closed {
            state.subscribers.push(Subscriber {
                name: name.chars().take(64).collect(),
                sender,
            });
        }
        Ok(receiver)
    }

    /// Ends every stream once its queue is read.
    pub fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.subscribers.clear();
    }

    /// Updates that did not fit into queues.
    pub fn lost(&self) -> u64 {
        self.state().lost
    }

    /// Subscribers refused because too many were there.
    pub fn refused(&self) -> u64 {
        self.state().refused
    }

    pub fn clocks(&self) -> Vec<ClockMapping> {
        self.state().clocks.clone()
    }

    pub fn subscribers(&self) -> Vec<SubscriberStatus> {
        self.state()
            .subscribers
            .iter()
            .map(|s| SubscriberStatus {
                name: s.name.clone(),
                updates: s.sender.sequence(),
                lost: s.sender.lost(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::StreamExt;

    fn flow(flow_id: u64) -> Update {
        Update {
            flows: vec![FlowInfo {
                flow_id,
                ..FlowInfo::default()
            }],
            ..Update::default()
        }
    }

    #[tokio::test]
    async fn late_subscribers_learn_the_flows() {
        let hub = Hub::new(100);
        hub.publish(flow(1));
        hub.publish(flow(2));
        let mut r = hub.subscribe("a").unwrap();
        hub.publish(flow(3));
        assert_eq!(r.next().await.unwrap().flows.len(), 2);
        let next = r.next().await.unwrap();
        assert_eq!((next.sequence, next.flows[0].flow_id), (1, 3));
        hub.close();
        assert!(r.next().await.is_none());
    }

    #[test]
    fn subscribers_are_bounded_and_places_are_free_again() {
        let hub = Hub::new(100);
        let mut all: Vec<_> = (0..MAX_SUBSCRIBERS)
            .map(|_| hub.subscribe("s").unwrap())
            .collect();
        assert!(hub.subscribe("one more").is_err());
        assert_eq!(hub.refused(), 1);
        all.pop();
        assert!(hub.subscribe("one more").is_ok());
    }
}
