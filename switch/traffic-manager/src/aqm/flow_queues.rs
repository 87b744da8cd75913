// SPDX-License-Identifier: Apache-2.0
//! A queue for each flow: deficit round robin (Shreedhar, Varghese 1995), or FQ-CoDel (RFC 8290),
//! which serves flows that have just begun to send first, and gives each flow a CoDel of its own.

use std::cmp::Reverse;
use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::codel::{CoDel, CoDelConfig};
use super::packet::{Seen, Verdict};

/// Flows that are remembered while they have no packet, for the drop rate of their CoDel; the
/// number of RFC 8290's queues.
const MOST_IDLE: usize = 1024;

/// Parameters of queues by flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowQueuesConfig {
    /// Bytes that a flow may send in a round.
    pub quantum_bytes: u32,
    /// Bytes of all flows together, above which the flow with the most loses its oldest packet.
    pub limit_bytes: u64,
    /// CoDel of each flow; `None`: deficit round robin alone.
    pub codel: Option<CoDelConfig>,
}

impl FlowQueuesConfig {
    /// Deficit round robin up to this many bytes.
    pub fn fair(limit_bytes: u64) -> Self {
        Self {
            quantum_bytes: 1514,
            limit_bytes,
            codel: None,
        }
    }

    /// FQ-CoDel with the values of RFC 8290 §5.2, whose limit is 10240 packets.
    pub fn fq_codel() -> Self {
        Self {
            codel: Some(CoDelConfig::default()),
            ..Self::fair(10_240 * 1514)
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if self.quantum_bytes == 0 || self.limit_bytes == 0 {
            return Err("quantum and limit must be above 0".into());
        }
        self.codel.map_or(Ok(()), |c| c.check())
    }
}

#[derive(Debug)]
struct Flow {
    packets: u32,
    bytes: u64,
    /// Bytes that it may still send in this round.
    deficit: i64,
    /// Present in `new` or `old`.
    listed: bool,
    codel: Option<CoDel>,
}

/// Flows of a queue, and their order. The packets themselves wait in the queue.
#[derive(Debug)]
pub(super) struct FlowQueues {
    config: FlowQueuesConfig,
    flows: FxHashMap<u64, Flow>,
    /// Flows that had no packet before (RFC 8290 §4.2); empty without CoDel.
    new: VecDeque<u64>,
    old: VecDeque<u64>,
}

impl FlowQueues {
    pub(super) fn new(config: FlowQueuesConfig) -> Self {
        Self {
            config,
            flows: FxHashMap::default(),
            new: VecDeque::new(),
            old: VecDeque::new(),
        }
    }

    pub(super) fn arrive(&mut self, flow: u64, seen: &Seen) {
        let config = self.config;
        if self.flows.len() > MOST_IDLE + self.new.len() + self.old.len() {
            self.flows.retain(|_, f| f.listed);
        }
        let f = self.flows.entry(flow).or_insert_with(|| Flow {
            packets: 0,
            bytes: 0,
            deficit: 0,
            listed: false,
            codel: config.codel.map(CoDel::new),
        });
        f.packets += 1;
        f.bytes += seen.frame_bytes;
        if let Some(codel) = &mut f.codel {
            codel.arrive(seen);
        }
        if f.listed {
            return;
        }
        f.listed = true;
        f.deficit = i64::from(config.quantum_bytes);
        if config.codel.is_some() {
            self.new.push_back(flow);
        } else {
            self.old.push_back(flow);
        }
    }

    /// Returns the flow whose packet leaves next; `None` if none waits.
    pub(super) fn next(&mut self) -> Option<u64> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let flow = *list.front()?;
            let f = self.flows.get_mut(&flow)?;
            let is_idle = f.packets == 0;
            if !is_idle && f.deficit > 0 {
                return Some(flow);
            }
            list.pop_front();
            if !is_idle {
                f.deficit += i64::from(self.config.quantum_bytes);
                self.old.push_back(flow);
            } else if is_new && !self.old.is_empty() {
                // A flow that sends little must not be new each time (RFC 8290 §4.2).
                self.old.push_back(flow);
            } else {
                f.listed = false;
            }
        }
    }

    /// Decides the fate of a packet as it leaves.
    pub(super) fn leave(&mut self, flow: u64, seen: &Seen, sojourn_ns: u64) -> Verdict {
        let Some(f) = self.flows.get_mut(&flow) else {
            return Verdict::Pass;
        };
        f.packets -= 1;
        f.bytes -= seen.frame_bytes;
        let own = Seen {
            queue_bytes: f.bytes,
            ..*seen
        };
        let verdict = match &mut f.codel {
            Some(codel) => codel.leave(&own, sojourn_ns),
            None => Verdict::Pass,
        };
        if verdict != Verdict::Drop {
            f.deficit -= seen.frame_bytes as i64;
        }
        verdict
    }

    /// Returns the flow that loses a packet if this many bytes wait.
    pub(super) fn overflows(&self, waiting_bytes: u64) -> Option<u64> {
        if waiting_bytes <= self.config.limit_bytes {
            return None;
        }
        let most = self
            .flows
            .iter()
            .max_by_key(|(id, f)| (f.bytes, Reverse(**id)));
        most.map(|(id, _)| *id)
    }

    /// Removes a packet that the limit refuses.
    pub(super) fn lose(&mut self, flow: u64, bytes: u32) {
        if let Some(f) = self.flows.get_mut(&flow) {
            f.packets -= 1;
            f.bytes -= u64::from(bytes);
        }
    }
}

#[cfg(test)]
mod tests;
