// SPDX-License-Identifier: Apache-2.0
//! Ports with their queues.

use std::collections::VecDeque;

use crate::aqm::{AqmCounts, PortAqm};
use crate::line::Line;
use crate::priority::{PriorityQueues, interval_ns};
use crate::wire::Pace;

/// Default depth of a port's queue.
pub const DEFAULT_DEPTH_PACKETS: u32 = 4096;
/// Rate, delay and queues of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortConfig {
    /// Bit rate; 0: no serialisation time.
    pub rate_bps: u64,
    /// Frames per second, whatever their size, as in BMv2; 0: no limit.
    pub rate_pps: u64,
    /// Propagation delay.
    pub delay_ns: u64,
    /// Depth of each queue; 0: unlimited.
    pub depth_packets: u32,
    /// Rate of the input line. 0: frames enter at the time they arrive. `None`: single frames
    /// do so, too; the segments of a super-frame follow each other at 10 times the rate of the
    /// fastest port that has one.
    pub in_rate_bps: Option<u64>,
}

impl Default for PortConfig {
    fn default() -> Self {
        Self {
            rate_bps: 0,
            rate_pps: 0,
            delay_ns: 0,
            depth_packets: DEFAULT_DEPTH_PACKETS,
            in_rate_bps: None,
        }
    }
}

/// A port with its queues.
#[derive(Debug, Default)]
pub struct Port {
    /// Set by [`Switch::configure`](crate::Switch::configure).
    pub config: PortConfig,
    pub(crate) queues: PriorityQueues,
    /// Bytes of the frames in the queues, as the program counts them.
    pub queue_bytes: u64,
    /// Time at which the service of the last frame ends.
    pub(crate) free_at_ns: u64,
    pub(crate) pace: Pace,
    /// Whether a `Serve` event is scheduled.
    pub(crate) serving: bool,
    /// Time of the last `Serve` event scheduled because queues wait for their rates.
    pub(crate) wake_at_ns: u64,
    pub(crate) flying: VecDeque<(u64, Vec<u8>)>,
    pub(crate) line: Line,
    /// `None` unless configured.
    pub(crate) aqm: Option<Box<PortAqm>>,
    /// Packets that the full queue refused.
    pub tail_dropped_packets: u64,
    /// Bytes that the full queue refused.
    pub tail_dropped_bytes: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
}

impl Port {
    /// Returns the number of packets in the queues.
    pub fn queue_packets(&self) -> usize {
        self.queues.len()
    }

    /// Frames dropped because the input line was too slow for them.
    pub fn line_dropped_packets(&self) -> u64 {
        self.line.dropped_packets
    }

    /// Frames that entered early because the backlog on the input line was too long.
    pub fn line_early_packets(&self) -> u64 {
        self.line.early_packets
    }

    /// Bytes that arrived and wait for their time on the input line.
    pub fn line_waiting_bytes(&self) -> usize {
        self.line.waiting_bytes()
    }

    /// Packets that queue management dropped and marked; `None` if all queues are plain FIFOs.
    pub fn aqm_counts(&self) -> Option<AqmCounts> {
        self.aqm.as_ref().map(|a| a.counts)
    }

    /// Resets queue management: nothing waits, and time may restart at 0.
    pub(crate) fn restart_aqm(&mut self) {
        if let Some(aqm) = &mut self.aqm {
            aqm.restart();
        }
    }

    /// Returns the time in ns that the service of a frame takes.
    pub(crate) fn service_ns(&mut self, frame_bytes: usize) -> u64 {
        let on_the_wire = self.pace.time_ns(frame_bytes, self.config.rate_bps);
        match self.config.rate_pps {
            0 => on_the_wire,
            pps => on_the_wire.max(interval_ns(pps)),
        }
    }

    /// Sets the depth, in packets, of every queue.
    pub fn set_depth(&mut self, packets: u32) {
        self.config.depth_packets = packets;
        self.queues.limits.clear();
    }

    /// Sets the depth, in packets, of one queue; does nothing if that queue does not exist.
    pub fn set_queue_depth(&mut self, priority: usize, packets: u32) {
        let usual = self.config.depth_packets;
        if let Some(l) = self.queues.limit_mut(priority, usual) {
            l.depth_packets = packets;
        }
    }

    /// Sets the rate of each queue, independent of the others, as in BMv2. 0: no limit.
    pub fn set_rate_pps(&mut self, rate_pps: u64) {
        self.config.rate_pps = 0;
        if self.queues.count() == 1 {
            self.config.rate_pps = rate_pps;
        } else {
            (0..self.queues.count()).for_each(|q| self.set_queue_rate_pps(q, rate_pps));
        }
    }

    /// Sets the rate of one queue; does nothing if that queue does not exist. 0: no limit.
    pub fn set_queue_rate_pps(&mut self, priority: usize, rate_pps: u64) {
        let usual = self.config.depth_packets;
        if self.queues.count() == 1 && priority == 0 {
            self.config.rate_pps = rate_pps;
        } else if let Some(l) = self.queues.limit_mut(priority, usual) {
            l.rate_pps = rate_pps;
        }
    }
}

/// Ports in order of their numbers.
#[derive(Debug, Default)]
pub(crate) struct Ports {
    list: Vec<(u32, Port)>,
    /// Position in the list by port number, for small numbers: used for every packet.
    /// [`NONE`] if there is no such port.
    small: Vec<u16>,
    /// Number of queues of each port; 0 means 1.
    priorities: usize,
}

const NONE: u16 = u16::MAX;
/// Number of port numbers that fit in v1model's 9 bits.
const SMALL: usize = 512;

impl Ports {
    #[inline]
    fn position(&self, number: u32) -> Option<usize> {
        match self.small.get(number as usize) {
            Some(at) if *at != NONE => Some(usize::from(*at)),
            Some(_) => None,
            None => self.list.binary_search_by_key(&number, |p| p.0).ok(),
        }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut Port> {
        let at = self.position(number)?;
        self.list.get_mut(at).map(|p| &mut p.1)
    }

    /// Returns the port; creates it if it does not exist.
    pub(crate) fn entry(&mut self, number: u32) -> &mut Port {
        let at = match self.position(number) {
            Some(at) => at,
            None => self.insert(number),
        };
        &mut self.list[at].1
    }

    fn insert(&mut self, number: u32) -> usize {
        let at = self.list.partition_point(|p| p.0 < number);
        let mut port = Port::default();
        port.queues.set_count(self.priorities);
        self.list.insert(at, (number, port));
        self.number();
        at
    }

    pub(crate) fn set_priorities(&mut self, count: usize) {
        self.priorities = count;
        for p in self.values_mut() {
            p.queues.set_count(count);
            p.aqm = None;
        }
    }

    fn number(&mut self) {
        self.small.clear();
        self.small.resize(SMALL, NONE);
        for (at, (number, _)) in self.list.iter().enumerate() {
            if let (Some(x), Ok(at)) = (self.small.get_mut(*number as usize), u16::try_from(at)) {
                *x = at;
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Port)> {
        self.list.iter().map(|(n, p)| (*n, p))
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Port> {
        self.list.iter_mut().map(|(_, p)| p)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_any_number_in_order() {
        let mut ports = Ports::default();
        assert!(ports.get_mut(1).is_none());
        for n in [700, 3, 511, 1, 512, u32::MAX] {
            ports.entry(n).tx_packets = u64::from(n);
        }
        ports.entry(3).tx_bytes = 7;
        let list: Vec<_> = ports.iter().map(|(n, p)| (n, p.tx_packets)).collect();
        let want = [1, 3, 511, 512, 700, u32::MAX].map(|n| (n, u64::from(n)));
        assert_eq!(list, want);
        assert_eq!(ports.get_mut(3).unwrap().tx_bytes, 7);
        for (n, _) in want {
            assert_eq!(ports.get_mut(n).unwrap().tx_packets, u64::from(n));
        }
        assert!(ports.get_mut(2).is_none());
        assert!(ports.get_mut(701).is_none());
    }
}
