// SPDX-License-Identifier: Apache-2.0
//! Updates from the pipeline to every subscriber, each through a bounded queue.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tidemark_proto::telemetry::{ClockMapping, FlowInfo, Update};
use tokio::sync::mpsc;

/// Updates that may wait for one subscriber.
const QUEUE: usize = 1024;
/// Flows per message of the first list: keeps messages below gRPC's 4 MiB.
const FLOWS_PER_MESSAGE: usize = 8192;

#[derive(Default)]
struct State {
    flows: BTreeMap<u64, FlowInfo>,
    clocks: Vec<ClockMapping>,
    subscribers: Vec<Subscriber>,
    closed: bool,
    lost: u64,
}

struct Subscriber {
    name: String,
    sender: mpsc::Sender<Update>,
    sequence: u64,
    lost: u64,
}

impl Subscriber {
    /// False when it is gone.
    fn send(&mut self, update: &Update) -> bool {
        let numbered = Update {
            sequence: self.sequence,
            updates_lost: self.lost,
            ..update.clone()
        };
        self.sequence += 1;
        match self.sender.try_send(numbered) {
            Ok(()) => true,
            Err(mpsc::error::TrySendError::Full(_)) => {
                self.lost += 1;
                true
            }
            Err(mpsc::error::TrySendError::Closed(_)) => false,
        }
    }
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
    pub fn publish(&self, update: &Update) {
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
        let lost = &mut state.lost;
        state.subscribers.retain_mut(|s| {
            let before = s.lost;
            let stays = s.send(update);
            *lost += s.lost - before;
            stays
        });
    }

    /// A new subscriber; its first messages carry all flows known.
    pub fn subscribe(&self, name: &str) -> mpsc::Receiver<Update> {
        let mut state = self.state();
        let first = state.flows.len().div_ceil(FLOWS_PER_MESSAGE);
        let (sender, receiver) = mpsc::channel(QUEUE + first);
        let mut subscriber = Subscriber {
            name: name.chars().take(64).collect(),
            sender,
            sequence: 0,
            lost: 0,
        };
        let flows: Vec<FlowInfo> = state.flows.values().cloned().collect();
        let mut chunks = flows.chunks(FLOWS_PER_MESSAGE);
        subscriber.send(&Update {
            flows: chunks.next().unwrap_or_default().to_vec(),
            clocks: state.clocks.clone(),
            ..Update::default()
        });
        for chunk in chunks {
            subscriber.send(&Update {
                flows: chunk.to_vec(),
                ..Update::default()
            });
        }
        if !state.closed {
            state.subscribers.push(subscriber);
        }
        receiver
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

    pub fn clocks(&self) -> Vec<ClockMapping> {
        self.state().clocks.clone()
    }

    pub fn subscribers(&self) -> Vec<SubscriberStatus> {
        self.state()
            .subscribers
            .iter()
            .map(|s| SubscriberStatus {
                name: s.name.clone(),
                updates: s.sequence,
                lost: s.lost,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(flow_id: u64) -> Update {
        Update {
            flows: vec![FlowInfo {
                flow_id,
                ..FlowInfo::default()
            }],
            ..Update::default()
        }
    }

    #[test]
    fn late_subscribers_learn_the_flows() {
        let hub = Hub::new(100);
        hub.publish(&flow(1));
        hub.publish(&flow(2));
        let mut r = hub.subscribe("a");
        hub.publish(&flow(3));
        assert_eq!(r.try_recv().unwrap().flows.len(), 2);
        let next = r.try_recv().unwrap();
        assert_eq!((next.sequence, next.flows[0].flow_id), (1, 3));
        hub.close();
        assert!(matches!(
            r.try_recv(),
            Err(mpsc::error::TryRecvError::Disconnected)
        ));
    }

    #[test]
    fn a_slow_subscriber_sees_a_gap() {
        let hub = Hub::new(100);
        let mut r = hub.subscribe("slow");
        for i in 0..QUEUE as u64 + 5 {
            hub.publish(&flow(i));
        }
        assert!(hub.lost() > 0);
        let mut n = 0;
        while r.try_recv().is_ok() {
            n += 1;
        }
        hub.publish(&flow(0));
        let u = r.try_recv().unwrap();
        assert_eq!(u.sequence, n + u.updates_lost);
        drop(r);
        hub.publish(&flow(0));
        assert!(hub.subscribers().is_empty());
    }
}
