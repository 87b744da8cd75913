// SPDX-License-Identifier: Apache-2.0
//! Batches that receivers hand to the engine.

use crate::receive;
use crate::reception_clock::ReceptionClock;
use parking_lot::Mutex;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, OnceLock};
use tcp_probe::perf::Counts;
use tidemark_pipeline::Datagram;

/// Free buffers, to be filled again.
#[derive(Debug, Default)]
struct Pool(Mutex<Vec<Buffers>>);

/// Maximum number of free buffers kept.
const MAX_POOL: usize = 64;

#[derive(Debug, Default)]
struct Buffers {
    bytes: Vec<u8>,
    messages: Vec<Message>,
}

/// Datagrams of one exporter, all but the last of equal length.
#[derive(Clone, Copy, Debug)]
struct Message {
    exporter: IpAddr,
    rx_unix_ns: u64,
    segment_bytes: usize,
    end: usize,
}

/// Datagrams received together.
#[derive(Debug, Default)]
pub struct Batch {
    buffers: Buffers,
    datagrams: usize,
    /// Pool to which the buffers return.
    home: Option<Arc<Pool>>,
}

/// Datagrams and bytes to gather before the engine gets a batch, which wakes a thread.
const GATHERED: usize = 1024;
const GATHERED_BYTES: usize = 128 << 10;

/// Copies the datagrams of a receiving thread into batches for the engine.
#[derive(Debug, Default)]
pub struct Gatherer {
    pool: Arc<Pool>,
    batch: Batch,
}

impl Gatherer {
    /// Adds `bytes`, all or part of the datagrams of a message; `rx_unix_ns`: Unix time.
    pub fn add(&mut self, message: &receive::Message<'_>, rx_unix_ns: u64, bytes: &[u8]) {
        let length = message.segment_bytes();
        let datagrams = bytes.len().div_ceil(length).max(1);
        self.put(message, rx_unix_ns, bytes, datagrams);
    }

    /// Adds a datagram that another engine also has and counts.
    pub fn add_copy(&mut self, message: &receive::Message<'_>, rx_unix_ns: u64, bytes: &[u8]) {
        self.put(message, rx_unix_ns, bytes, 0);
    }

    fn put(&mut self, message: &receive::Message<'_>, rx_ns: u64, bytes: &[u8], counted: usize) {
        if self.batch.home.is_none() {
            self.batch = Batch {
                buffers: self.pool.0.lock().pop().unwrap_or_default(),
                datagrams: 0,
                home: Some(Arc::clone(&self.pool)),
            };
        }
        let length = message.segment_bytes();
        self.batch
            .add(message.exporter, rx_ns, bytes, length, counted);
    }

    /// Returns the batch if no more datagrams are there at the moment or enough have gathered.
    pub fn ready(&mut self, more: bool) -> Option<Batch> {
        let room = self.batch.len() < GATHERED && self.batch.buffers.bytes.len() < GATHERED_BYTES;
        if self.batch.is_empty() || (more && room) {
            return None;
        }
        Some(std::mem::take(&mut self.batch))
    }
}

impl Batch {
    /// Adds a datagram; `rx_unix_ns`: Unix time of its reception, ns.
    pub fn push(&mut self, exporter: IpAddr, rx_unix_ns: u64, payload: &[u8]) {
        self.add(exporter, rx_unix_ns, payload, payload.len(), 1);
    }

    fn add(
        &mut self,
        exporter: IpAddr,
        rx_unix_ns: u64,
        bytes: &[u8],
        segment_bytes: usize,
        datagrams: usize,
    ) {
        self.buffers.bytes.extend_from_slice(bytes);
        self.buffers.messages.push(Message {
            exporter,
            rx_unix_ns,
            segment_bytes: segment_bytes.max(1),
            end: self.buffers.bytes.len(),
        });
        self.datagrams += datagrams;
    }

    /// Returns the number of datagrams, without those that another engine counts.
    pub fn len(&self) -> usize {
        self.datagrams
    }

    /// Whether the batch has no datagram.
    pub fn is_empty(&self) -> bool {
        self.buffers.messages.is_empty()
    }

    /// Returns the datagrams in order of reception, each with its time on the pipeline's clock,
    /// whose time is now `now_ns`.
    pub fn datagrams(&self, clock: ReceptionClock, now_ns: u64) -> Datagrams<'_> {
        Datagrams {
            clock,
            now_ns,
            messages: self.buffers.messages.iter(),
            bytes: &self.buffers.bytes,
            start: 0,
            rest: &[],
            exporter: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            rx_ns: 0,
            segment_bytes: 1,
        }
    }
}

/// Iterator over the datagrams of a [`Batch`].
#[derive(Clone, Debug)]
pub struct Datagrams<'a> {
    messages: std::slice::Iter<'a, Message>,
    /// Bytes of all messages.
    bytes: &'a [u8],
    /// Start of the next message.
    start: usize,
    /// Rest of the current message.
    rest: &'a [u8],
    exporter: IpAddr,
    rx_ns: u64,
    segment_bytes: usize,
    clock: ReceptionClock,
    now_ns: u64,
}

impl Datagrams<'_> {
    /// Moves on to the next message. Not inlined: a message can have many coalesced datagrams, and
    /// the work for each is short.
    #[inline(never)]
    fn next_message(&mut self) -> Option<()> {
        let m = self.messages.next()?;
        // An empty message is an empty datagram, which also counts.
        self.rest = self.bytes.get(self.start..m.end).unwrap_or_default();
        self.start = m.end;
        self.exporter = m.exporter;
        self.rx_ns = self.clock.rx_ns(m.rx_unix_ns, self.now_ns);
        self.segment_bytes = m.segment_bytes;
        Some(())
    }
}

impl<'a> Iterator for Datagrams<'a> {
    type Item = Datagram<'a>;

    #[inline]
    fn next(&mut self) -> Option<Datagram<'a>> {
        if self.rest.is_empty() {
            self.next_message()?;
        }
        let length = self.segment_bytes.min(self.rest.len());
        let (payload, rest) = self.rest.split_at(length);
        self.rest = rest;
        Some(Datagram {
            exporter: self.exporter,
            rx_ns: self.rx_ns,
            payload,
        })
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        if let Some(pool) = self.home.take() {
            let mut buffers = std::mem::take(&mut self.buffers);
            buffers.bytes.clear();
            buffers.messages.clear();
            let mut free = pool.0.lock();
            if free.len() < MAX_POOL {
                free.push(buffers);
            }
        }
    }
}

/// Counters from before the engine: receivers and tracepoints.
#[derive(Debug, Default)]
pub struct SourceCounters {
    sockets: OnceLock<Arc<receive::Counters>>,
    probe: Mutex<Counts>,
}

impl SourceCounters {
    /// Sets the receiver's counters to show; only the first call has an effect.
    pub fn show_sockets(&self, counters: Arc<receive::Counters>) {
        // There is only one receiver.
        let _ = self.sockets.set(counters);
    }

    /// Returns the receive path of each address; none before the receiver has started.
    pub fn paths(&self) -> Vec<receive::Path> {
        (self.sockets.get()).map_or_else(Vec::new, |c| c.paths.clone())
    }

    /// Returns the totals of the report sockets.
    pub fn sockets(&self) -> receive::Totals {
        self.sockets.get().map(|c| c.totals()).unwrap_or_default()
    }

    /// Sets the counts of the tracepoints.
    pub fn set_probe(&self, counts: Counts) {
        *self.probe.lock() = counts;
    }

    /// Returns the counts of the tracepoints.
    pub fn probe(&self) -> Counts {
        *self.probe.lock()
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
        let all: Vec<_> = b
            .datagrams(ReceptionClock::new(0), 9)
            .map(|d| (d.rx_ns, d.payload))
            .collect();
        assert_eq!(all, [(1, &b"abc"[..]), (2, b""), (3, b"de")]);
        assert_eq!(b.len(), 3);
        b.add(a, 4, b"1122334", 2, 4);
        let last: Vec<_> = b
            .datagrams(ReceptionClock::new(0), 9)
            .skip(3)
            .map(|d| d.payload)
            .collect();
        assert_eq!(last, [&b"11"[..], b"22", b"33", b"4"]);
        assert_eq!(b.len(), 7);
        assert_eq!(
            b.datagrams(ReceptionClock::new(100), 109)
                .next()
                .map(|d| d.rx_ns),
            Some(101)
        );
    }
}
