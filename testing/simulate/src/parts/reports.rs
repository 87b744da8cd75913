// SPDX-License-Identifier: Apache-2.0
//! Reports in flight, and the truth about them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use test_support::rng::Rng;

/// A switch without reports for this long was silent.
const BREAK_NS: u64 = 400_000_000;

/// A datagram in flight.
pub(crate) struct Datagram {
    pub exporter: IpAddr,
    pub payload: Vec<u8>,
    /// The switch's epoch, if the switch sent it.
    pub honest: Option<u32>,
}

/// A datagram that waits in the collector's socket, with its time of day stamp.
pub(crate) struct Stamped {
    pub datagram: Datagram,
    pub rx_unix_ns: u64,
}

/// Sequence numbers of a stream that one start of the collector received.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    pub first: Option<u32>,
    pub highest: u32,
    /// Distinct numbers since the first.
    pub delivered: BTreeSet<u32>,
}

/// Time span in which reports of one start of the switch reach the collector without a break.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Heard {
    epoch: u32,
    since_ns: u64,
    last_ns: u64,
}

impl Heard {
    /// Counts a report that arrived.
    pub(crate) fn report(&mut self, epoch: u32, now_ns: u64) {
        if epoch != self.epoch || now_ns > self.last_ns + BREAK_NS {
            (self.epoch, self.since_ns) = (epoch, now_ns);
        }
        self.last_ns = now_ns;
    }

    /// Returns for how long reports have arrived, ns.
    pub(crate) fn for_ns(&self, epoch: u32) -> u64 {
        match epoch == self.epoch {
            true => self.last_ns - self.since_ns,
            false => 0,
        }
    }
}

/// The truth about reports.
pub(crate) struct Reports {
    pub rng: Rng,
    /// Numbers by start of the switch and stream, for the current collector.
    pub numbers: BTreeMap<(u32, u8), Numbers>,
    pub heard: Heard,
    /// Number of datagrams given to the current collector.
    pub given: u64,
    /// Number of these datagrams that the switch did not send, or not in this form.
    pub forged: u64,
    pub kept: VecDeque<Vec<u8>>,
    /// End of the collector's stall; until then datagrams wait in its socket.
    pub stalled_until_ns: u64,
    pub waiting: Vec<Stamped>,
    /// Whether the collector is about to read its socket.
    pub woken: bool,
}

impl Reports {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            rng: Rng::of_part(seed, 1),
            numbers: BTreeMap::new(),
            heard: Heard::default(),
            given: 0,
            forged: 0,
            kept: VecDeque::new(),
            stalled_until_ns: 0,
            waiting: Vec::new(),
            woken: false,
        }
    }
}
