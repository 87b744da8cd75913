// SPDX-License-Identifier: Apache-2.0
//! Sends updates from the pipeline to every subscriber, each through a queue that is bounded in
//! messages and in bytes. Subscribers share the updates that wait: all queues together cost no more
//! than the slowest subscriber's.

mod known;
mod queue;
mod subscribers;

use crate::link_histograms::LinkHistograms;
use known::{FirstUpdates, Shared};
use parking_lot::Mutex;
use prost::Message;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use tidemark_proto::telemetry::{ClockMapping, Update};

pub use queue::Receiver;

pub use subscribers::TooManySubscribers;
use subscribers::{Subscriber, place};

#[derive(Default)]
struct State {
    subscribers: Vec<Subscriber>,
    closed: bool,
    lost: u64,
}

/// Status of a subscriber.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SubscriberStatus {
    /// Name that the subscriber gave.
    pub name: String,
    /// Updates for this subscriber, including lost ones.
    pub updates: u64,
    /// Updates dropped because its queue was full.
    pub lost: u64,
}

/// Gives every update to every subscriber.
pub struct Hub {
    state: Mutex<State>,
    known: Shared,
    histograms: Mutex<LinkHistograms>,
    max_flows: usize,
}

impl Hub {
    /// Creates a hub; `max_flows` limits the flows that a new subscriber is told about.
    pub fn new(max_flows: usize) -> Self {
        Self {
            state: Mutex::default(),
            known: Shared::default(),
            histograms: Mutex::default(),
            max_flows,
        }
    }

    /// Sets the (node, port) pairs that always have a place in the histograms.
    pub(crate) fn naming(mut self, named: BTreeSet<(u32, u32)>) -> Self {
        self.histograms = Mutex::new(LinkHistograms::of(named));
        self
    }

    /// Sends an update to every subscriber.
    pub fn publish(&self, update: Update) {
        {
            let mut histograms = self.histograms.lock();
            update.link_intervals.iter().for_each(|l| histograms.add(l));
        }
        let mut guard = self.state.lock();
        let state = &mut *guard;
        self.known.lock().learn(&update, self.max_flows);
        if state.subscribers.is_empty() {
            return;
        }
        let bytes = update.encoded_len();
        let update = Arc::new(update);
        let lost = &mut state.lost;
        state.subscribers.retain_mut(|s| {
            let before = s.sender.lost;
            let stays = s.sender.send(&update, bytes);
            *lost += s.sender.lost - before;
            stays
        });
    }

    /// Adds a subscriber, whose first messages carry all known flows. `peer`: its connection.
    ///
    /// # Errors
    /// If there are too many subscribers.
    pub fn subscribe(
        &self,
        name: &str,
        peer: Option<SocketAddr>,
    ) -> Result<Receiver, TooManySubscribers> {
        let mut state = self.state.lock();
        state.subscribers.retain(|s| !s.sender.is_closed());
        place(&state.subscribers, name, peer)?;
        let (sender, receiver) = queue::channel(FirstUpdates::new(&self.known));
        if !state.closed {
            state.subscribers.push(Subscriber {
                name: name.chars().take(64).collect(),
                peer,
                sender,
            });
        }
        Ok(receiver)
    }

    /// Ends every stream once its queue is read.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.subscribers.clear();
    }

    /// Returns the number of updates dropped because queues were full.
    pub fn lost(&self) -> u64 {
        self.state.lock().lost
    }

    /// Returns the known clock mappings of nodes and hosts.
    pub fn clocks(&self) -> Vec<ClockMapping> {
        self.known.lock().clocks.clone()
    }

    /// Returns the occupancy and delay of each link since the start.
    pub(crate) fn histograms(&self) -> LinkHistograms {
        self.histograms.lock().clone()
    }

    /// Returns the current subscribers.
    pub fn subscribers(&self) -> Vec<SubscriberStatus> {
        self.state
            .lock()
            .subscribers
            .iter()
            .map(|s| SubscriberStatus {
                name: s.name.clone(),
                updates: s.sender.sequence,
                lost: s.sender.lost,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::StreamExt;
    use tidemark_proto::telemetry::FlowInfo;

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
        let mut r = hub.subscribe("a", None).unwrap();
        hub.publish(flow(3));
        assert_eq!(r.next().await.unwrap().flows.len(), 2);
        let next = r.next().await.unwrap();
        assert_eq!((next.sequence, next.flows[0].flow_id), (1, 3));
        hub.close();
        assert!(r.next().await.is_none());
    }

    #[tokio::test]
    async fn a_list_that_nobody_reads_holds_no_flows() {
        let flows = 2 * known::FLOWS_PER_MESSAGE as u64 + 1;
        let hub = Hub::new(flows as usize);
        (0..flows).for_each(|id| hub.publish(flow(id)));
        let mut all = hub.subscribe("at once", None).unwrap();
        let mut told = Vec::new();
        for sequence in 0..3 {
            let update = all.next().await.unwrap();
            assert_eq!(update.sequence, sequence);
            told.extend(update.flows.iter().map(|f| f.flow_id));
        }
        assert_eq!(told, (0..flows).collect::<Vec<_>>());
        let mut late = hub.subscribe("late", None).unwrap();
        // A flow forgotten before the list is read is not told.
        (flows..flows + 10).for_each(|id| hub.publish(flow(id)));
        assert_eq!(late.next().await.unwrap().flows[0].flow_id, 10);
        let rest = [late.next().await.unwrap(), late.next().await.unwrap()];
        assert_eq!(rest[0].flows.last().unwrap().flow_id, flows - 1);
        assert_eq!((rest[1].sequence, rest[1].flows.len()), (2, 0));
        let next = late.next().await.unwrap();
        assert_eq!((next.sequence, next.flows[0].flow_id), (3, flows));
    }
}
