// SPDX-License-Identifier: Apache-2.0
//! Sends hosts' events to the pipelines that know their flows.

use super::{FlowShards, MAX_SHARDS};
use crate::engine::{HostEvents, Input};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use tcp_probe::Event;

/// Error of a sender whose engines have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the collector is ending")]
pub struct Ended;

/// Sends events to the engines.
///
/// An event goes to every pipeline that knows its flow. If none knows the flow yet, the event goes
/// to all, because the report that shows the flow may be on its way. If the flow stays unknown, the
/// first pipeline counts the event; the others have copies.
#[derive(Clone, Debug)]
pub struct EventSender {
    engines: Vec<SyncSender<Input>>,
    flows: Option<Arc<FlowShards>>,
}

impl EventSender {
    /// Creates a sender to one engine, or to several that announce their flows in `flows`.
    pub fn new(engines: Vec<SyncSender<Input>>, flows: Option<Arc<FlowShards>>) -> Self {
        Self { engines, flows }
    }

    /// Sends the events of a host, which are in time order; `None` is this machine. Waits while an
    /// engine is busy.
    ///
    /// # Errors
    /// When an engine has ended.
    pub fn send(&self, host: Option<Arc<str>>, events: Vec<Event>) -> Result<(), Ended> {
        let nothing = HostEvents {
            host,
            events: Vec::new(),
            copies: Vec::new(),
        };
        let Some(flows) = &self.flows else {
            let all = HostEvents { events, ..nothing };
            return self
                .engines
                .iter()
                .try_for_each(|engine| send(engine, all.clone()));
        };
        let mut parts = vec![nothing; self.engines.len()];
        for event in events {
            let known = flows.of(event.flow());
            for (shard, part) in parts.iter_mut().enumerate().take(MAX_SHARDS) {
                if known == 0 || known >> shard & 1 != 0 {
                    part.events.push(event);
                    part.copies.push(known == 0 && shard > 0);
                }
            }
        }
        for (engine, part) in self.engines.iter().zip(parts) {
            if !part.events.is_empty() {
                send(engine, part)?;
            }
        }
        Ok(())
    }
}

fn send(engine: &SyncSender<Input>, events: HostEvents) -> Result<(), Ended> {
    engine.send(Input::Events(events)).map_err(|_| Ended)
}

#[cfg(test)]
mod tests {
    use super::*;
    use int_report::FlowKey;
    use std::sync::mpsc::sync_channel;
    use tcp_probe::CongStateEvent;

    fn event(port: u16) -> Event {
        Event::CongState(CongStateEvent {
            time_ns: u64::from(port),
            flow: FlowKey {
                src: [10, 0, 0, 1].into(),
                dst: [10, 0, 0, 2].into(),
                src_port: port,
                dst_port: 80,
                protocol: 6,
            },
            state: 3,
        })
    }

    #[test]
    fn events_go_where_their_flow_is_known_and_else_everywhere() {
        let (engines, inputs): (Vec<_>, Vec<_>) = (0..3).map(|_| sync_channel(8)).unzip();
        let flows = Arc::new(FlowShards::new(100));
        flows.set(event(1).flow(), 1);
        flows.set(event(2).flow(), 0);
        flows.set(event(2).flow(), 2);
        let sender = EventSender::new(engines, Some(flows));
        sender
            .send(Some("h".into()), vec![event(1), event(2), event(3)])
            .unwrap();
        let got: Vec<Vec<(u64, bool)>> = inputs
            .iter()
            .map(|input| match input.try_recv() {
                Ok(Input::Events(e)) => {
                    assert_eq!(e.host.as_deref(), Some("h"));
                    let times = e.events.iter().map(Event::time_ns);
                    times.zip(e.copies.iter().copied()).collect()
                }
                _ => Vec::new(),
            })
            .collect();
        assert_eq!(
            got,
            [
                vec![(2, false), (3, false)],
                vec![(1, false), (3, true)],
                vec![(2, false), (3, true)]
            ]
        );
        drop(inputs);
        assert_eq!(sender.send(None, vec![event(3)]), Err(Ended));
    }
}
