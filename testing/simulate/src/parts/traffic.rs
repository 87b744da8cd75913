// SPDX-License-Identifier: Apache-2.0
//! Flows, and the truth about the queue.

use crate::plan::Plan;
use crate::tcp::{MSS, Receiver, Segment, Sender};
use std::collections::VecDeque;
use tcp_probe::Event as ProbeEvent;

/// The senders' access link is so many times faster than the bottleneck.
const ACCESS_FASTER: u64 = 10;
/// Samples kept for a collector that is not there.
const MAX_EVENTS: usize = 20_000;
/// Segments under way of a flow, at most.
const MAX_SENT: usize = 1_024;

/// A flow with both its ends.
#[derive(Default)]
pub(crate) struct Flow {
    pub sender: Sender,
    pub receiver: Receiver,
    pub running: bool,
    /// A timeout event is in the queue.
    pub armed: bool,
    /// Segments sent last, with the window then.
    sent: VecDeque<(u64, u32)>,
}

/// All flows, what the kernels tell of them, and the truth about the queue.
pub(crate) struct Traffic {
    flows: Vec<Flow>,
    /// The access link is free again then.
    pub access_free_ns: u64,
    pub access_ns: u64,
    pub ack_ns: u64,
    pub events: Vec<ProbeEvent>,
    pub out: Vec<Segment>,
    /// Most bytes waiting since the last look.
    pub queue_peak_bytes: u64,
}

impl Traffic {
    pub(crate) fn new(plan: &Plan) -> Self {
        let frame_bits = (u64::from(MSS) + 78) * 8;
        Self {
            flows: Vec::new(),
            access_free_ns: 0,
            access_ns: frame_bits * 1_000_000_000 / plan.rate_bps / ACCESS_FASTER,
            ack_ns: plan.base_rtt_ns - 1_000_000,
            events: Vec::new(),
            out: Vec::new(),
            queue_peak_bytes: 0,
        }
    }

    /// A kernel tells something.
    pub(crate) fn told(&mut self, event: ProbeEvent) {
        if self.events.len() < MAX_EVENTS {
            self.events.push(event);
        }
    }

    /// A segment leaves its sender.
    pub(crate) fn sent(&mut self, flow: usize, number: u64) {
        let f = self.flow(flow);
        f.sent.push_back((number, f.sender.cwnd as u32));
        if f.sent.len() > MAX_SENT {
            f.sent.pop_front();
        }
    }

    /// The window of a segment's sender when it was sent last, segments.
    pub(crate) fn window(&mut self, flow: usize, number: u64) -> u32 {
        let sent = &self.flow(flow).sent;
        let found = sent.iter().rev().find(|(n, _)| *n == number);
        found.map_or(0, |(_, cwnd)| *cwnd)
    }

    /// The flow of a number, made if need be.
    pub(crate) fn flow(&mut self, flow: usize) -> &mut Flow {
        if self.flows.len() <= flow {
            self.flows.resize_with(flow + 1, Flow::default);
        }
        &mut self.flows[flow]
    }
}
