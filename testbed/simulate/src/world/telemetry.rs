// SPDX-License-Identifier: Apache-2.0
//! The stream of updates from collector to controller.

use super::state::{Event, MS, World};
use crate::fault::Kind;
use futures::Stream as _;
use prost::Message as _;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use tidemark_proto::telemetry::Update;

const DELAY_NS: u64 = MS;
const RETRY_NS: u64 = 250 * MS;
/// A connection on which nothing passes for so long is given up (keep-alive).
const SILENCE_NS: u64 = 3_000 * MS;

impl World {
    fn telemetry_cut(&self) -> bool {
        self.any_active(|k| matches!(k, Kind::TelemetryPartition))
    }

    /// The controller looks for its collector.
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
        if let Ok(receiver) = collector.hub.subscribe("controller") {
            controller.core.connected(0, collector.info());
            self.telemetry.receiver = Some(receiver);
            self.telemetry.session += 1;
            self.telemetry.passed_ns = now;
            self.send_updates();
        }
    }

    pub(super) fn disconnect(&mut self, why: &str) {
        self.telemetry.receiver = None;
        // What is under way belongs to the connection before.
        self.telemetry.session += 1;
        if let Some(c) = &mut self.controller {
            c.core.disconnected(0, why.into());
        }
    }

    /// Puts what waits at the collector onto the way.
    pub(super) fn send_updates(&mut self) {
        if self.telemetry_cut() {
            return;
        }
        let mut context = Context::from_waker(Waker::noop());
        while let Some(receiver) = &mut self.telemetry.receiver {
            match Pin::new(receiver).poll_next(&mut context) {
                Poll::Ready(Some(update)) => {
                    let session = self.telemetry.session;
                    self.telemetry.passed_ns = self.now_ns;
                    self.schedule(DELAY_NS, Event::AtController(session, Box::new(update)));
                }
                Poll::Ready(None) => self.disconnect("the stream ended"),
                Poll::Pending => return,
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
        controller.core.take(0, update);
        self.drain_records();
    }
}
