// SPDX-License-Identifier: Apache-2.0
//! Reports under way, and the truth about them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use test_support::rng::Rng;

/// A switch from which nothing has come for so long was silent.
const BREAK_NS: u64 = 400_000_000;

/// A datagram under way.
pub(crate) struct Datagram {
    pub exporter: IpAddr,
    pub payload: Vec<u8>,
    /// Start of the switch, where the switch sent it.
    pub honest: Option<u32>,
}

/// One that waits in the collector's socket, stamped with the time of day.
pub(crate) struct Stamped {
    pub datagram: Datagram,
    pub rx_unix_ns: u64,
}

/// Numbers of one stream that one start of the collector has been given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    pub first: Option<u32>,
    pub highest: u32,
    /// Different ones from the first on.
    pub delivered: BTreeSet<u32>,
}

/// Reports of one start of the switch reach the collector, without a break.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Heard {
    epoch: u32,
    since_ns: u64,
    last_ns: u64,
}

impl Heard {
    /// One has come.
    pub(crate) fn report(&mut self, epoch: u32, now_ns: u64) {
        if epoch != self.epoch || now_ns > self.last_ns + BREAK_NS {
            (self.epoch, self.since_ns) = (epoch, now_ns);
        }
        self.last_ns = now_ns;
    }

    /// For how long they have come, ns.
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
    /// By start of the switch and stream, for the present collector.
    pub numbers: BTreeMap<(u32, u8), Numbers>,
    pub heard: Heard,
    /// Datagrams given to the present collector.
    pub given: u64,
    /// Datagrams of these that the switch did not send, or not like this.
    pub forged: u64,
    pub kept: VecDeque<Vec<u8>>,
    /// The collector stands still until then; what comes waits in its socket.
    pub stalled_until_ns: u64,
    pub waiting: Vec<Stamped>,
    /// The collector will look into its socket.
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
