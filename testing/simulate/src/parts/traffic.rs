// SPDX-License-Identifier: Apache-2.0
//! Flows, and the truth about the queue.

use crate::plan::Plan;
use crate::tcp::{MSS, Receiver, Segment, Sender};
use std::collections::VecDeque;
use tcp_probe::Event as ProbeEvent;

/// Rate of the senders' access link, as a multiple of the bottleneck's.
const ACCESS_FASTER: u64 = 10;
/// Samples kept while there is no collector.
const MAX_EVENTS: usize = 20_000;
/// Largest number of segments of a flow in flight.
const MAX_SENT: usize = 1_024;

/// A flow with both its end points.
#[derive(Default)]
pub(crate) struct Flow {
    pub sender: Sender,
    pub receiver: Receiver,
    pub running: bool,
    /// Whether a timeout event is scheduled.
    pub armed: bool,
    /// The last segments sent, with the window at that time.
    sent: VecDeque<(u64, u32)>,
}

/// All flows, the kernels' samples, and the truth about the queue.
pub(crate) struct Traffic {
    flows: Vec<Flow>,
    /// Time at which the access link is free again.
    pub access_free_ns: u64,
    pub access_ns: u64,
    pub ack_ns: u64,
    pub events: Vec<ProbeEvent>,
    pub out: Vec<Segment>,
    /// Largest queue in bytes since the last look.
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

    /// Stores a kernel's sample.
    pub(crate) fn told(&mut self, event: ProbeEvent) {
        if self.events.len() < MAX_EVENTS {
            self.events.push(event);
        }
    }

    /// Records a segment that leaves its sender.
    pub(crate) fn sent(&mut self, flow: usize, number: u64) {
        let f = self.flow(flow);
        f.sent.push_back((number, f.sender.cwnd as u32));
        if f.sent.len() > MAX_SENT {
            f.sent.pop_front();
        }
    }

    /// Returns the sender's window when a segment was last sent, in segments.
    pub(crate) fn window(&mut self, flow: usize, number: u64) -> u32 {
        let sent = &self.flow(flow).sent;
        let found = sent.iter().rev().find(|(n, _)| *n == number);
        found.map_or(0, |(_, cwnd)| *cwnd)
    }

    /// Returns the flow with this number, created if needed.
    pub(crate) fn flow(&mut self, flow: usize) -> &mut Flow {
        if self.flows.len() <= flow {
            self.flows.resize_with(flow + 1, Flow::default);
        }
        &mut self.flows[flow]
    }
}
