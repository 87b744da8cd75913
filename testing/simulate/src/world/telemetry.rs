// SPDX-License-Identifier: Apache-2.0
//! The stream of updates from collector to controller.

use super::state::{Event, MS, World};
use crate::controller::LINK;
use crate::fault::Kind;
use crate::parts::subscriber::Subscriber;
use prost::Message as _;
use std::task::Poll;
use tidemark_proto::telemetry::{LinkInterval, Update};

const DELAY_NS: u64 = MS;
const RETRY_NS: u64 = 250 * MS;
/// A connection without messages for this long is given up (keep-alive).
const SILENCE_NS: u64 = 3_000 * MS;

impl World {
    fn telemetry_cut(&self) -> bool {
        self.any_active(|k| matches!(k, Kind::TelemetryPartition))
    }

    /// Lets the controller connect to its collector.
    pub(super) fn connect(&mut self) {
        self.schedule(RETRY_NS, Event::Connect);
        let now = self.now_ns;
        let cut = self.telemetry_cut();
        if self.telemetry.receiver.is_some() {
            if now.saturating_sub(self.telemetry.passed_ns) > SILENCE_NS {
                self.disconnect("nothing came");
            }
            return;
        }
        let (Some(collector), Some(controller), false) =
            (&self.collector, &mut self.controller, cut)
        else {
            return;
        };
        if let Ok(receiver) = collector.hub.subscribe("controller", None) {
            controller.core.connected(0, collector.info());
            self.telemetry.receiver = Some(Subscriber::new(receiver));
            self.telemetry.session += 1;
            self.telemetry.passed_ns = now;
            self.send_updates();
        }
    }

    pub(super) fn disconnect(&mut self, why: &str) {
        self.telemetry.receiver = None;
        // Updates in flight belong to the previous connection.
        self.telemetry.session += 1;
        if let Some(c) = &mut self.controller {
            c.core.disconnected(0, why.into());
        }
    }

    /// Sends the updates that wait at the collector.
    pub(super) fn send_updates(&mut self) {
        if self.telemetry_cut() {
            return;
        }
        while let Some(receiver) = &mut self.telemetry.receiver {
            match receiver.poll() {
                Poll::Ready(Some(update)) => {
                    let session = self.telemetry.session;
                    self.telemetry.passed_ns = self.now_ns;
                    self.schedule(DELAY_NS, Event::AtController(session, Box::new(update)));
                }
                Poll::Ready(None) => self.disconnect("the stream ended"),
                Poll::Pending => return,
            }
            if let Some(receiver) = &mut self.telemetry.receiver {
                self.checks.subscriber(receiver);
            }
        }
    }

    pub(super) fn at_controller(&mut self, session: u64, update: &Update) {
        if session != self.telemetry.session {
            return;
        }
        self.set_clock();
        let Some(controller) = &mut self.controller else {
            return;
        };
        self.digest.add(update.encoded_len() as u64);
        let of_link = |i: &&LinkInterval| (i.node_id, i.port) == (LINK.node_id, LINK.port);
        let mut heard = update.link_intervals.iter().filter(of_link);
        if heard.any(|i| i.arrivals > 0) {
            self.telemetry.heard_ns = self.now_ns;
        }
        controller.core.take(0, update);
        self.drain_records();
    }
}
