// SPDX-License-Identifier: Apache-2.0
//! What receivers hand to the engine.

use crate::receive;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Datagrams received together.
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    entries: Vec<(IpAddr, u64, usize)>,
}

/// One datagram of a [`Batch`].
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    pub exporter: IpAddr,
    /// Reception, Unix time.
    pub rx_unix_ns: u64,
    pub payload: &'a [u8],
}

impl Batch {
    pub fn push(&mut self, exporter: IpAddr, rx_unix_ns: u64, payload: &[u8]) {
        self.bytes.extend_from_slice(payload);
        self.entries.push((exporter, rx_unix_ns, self.bytes.len()));
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Copies what a receiving thread has got.
    pub fn copy_of(received: &receive::Batch<'_>) -> Self {
        let mut batch = Self::default();
        for (exporter, payload) in received.datagrams() {
            batch.push(exporter, received.rx_unix_ns, payload);
        }
        batch
    }

    /// The datagrams in order of reception.
    pub fn datagrams(&self) -> impl Iterator<Item = Datagram<'_>> {
        let mut start = 0;
        self.entries
            .iter()
            .map(move |&(exporter, rx_unix_ns, end)| {
                let payload = self.bytes.get(start..end).unwrap_or_default();
                start = end;
                Datagram {
                    exporter,
                    rx_unix_ns,
                    payload,
                }
            })
    }
}

/// Losses before the engine.
#[derive(Debug, Default)]
pub struct SourceCounters {
    sockets: OnceLock<Arc<receive::Counters>>,
    probe_events: AtomicU64,
    probe_lost: AtomicU64,
    probe_filtered: AtomicU64,
    probe_malformed: AtomicU64,
}

impl SourceCounters {
    /// Has the receiver's counters shown here; only the first call counts.
    pub fn show_sockets(&self, counters: Arc<receive::Counters>) {
        // A second receiver does not exist.
        let _ = self.sockets.set(counters);
    }

    /// Totals of the report sockets.
    pub fn sockets(&self) -> receive::Totals {
        self.sockets.get().map(|c| c.totals()).unwrap_or_default()
    }

    /// Datagrams that found a socket's buffer full.
    pub fn kernel_drops(&self) -> u64 {
        self.sockets().kernel_drops
    }

    /// tcp_probe records that found a ring full.
    pub fn probe_lost(&self) -> u64 {
        self.probe_lost.load(Ordering::Relaxed)
    }

    pub fn set_probe(&self, counts: tcp_probe::perf::Counts) {
        self.probe_events.store(counts.events, Ordering::Relaxed);
        self.probe_lost.store(counts.lost, Ordering::Relaxed);
        self.probe_filtered
            .store(counts.filtered, Ordering::Relaxed);
        self.probe_malformed
            .store(counts.malformed, Ordering::Relaxed);
    }

    /// Events, lost, filtered, malformed of tcp_probe.
    pub fn probe(&self) -> [u64; 4] {
        [
            &self.probe_events,
            &self.probe_lost,
            &self.probe_filtered,
            &self.probe_malformed,
        ]
        .map(|n| n.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_come_out_as_they_went_in() {
        let mut b = Batch::default();
        let a = IpAddr::from([10, 0, 0, 1]);
        b.push(a, 1, b"abc");
        b.push(a, 2, b"");
        b.push(a, 3, b"de");
        let all: Vec<_> = b.datagrams().map(|d| (d.rx_unix_ns, d.payload)).collect();
        assert_eq!(all, [(1, &b"abc"[..]), (2, b""), (3, b"de")]);
    }
}
