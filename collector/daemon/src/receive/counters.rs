// SPDX-License-Identifier: Apache-2.0
//! Counters of the receiving threads, readable at any time from any thread.

use super::path::Path;
use super::received::Received;
use parking_lot::Mutex;
use std::sync::Arc;

/// Sums over some or all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// System calls that returned datagrams; with a ring, batches taken from it.
    pub batches: u64,
    /// Messages from the kernel: single or coalesced datagrams.
    pub messages: u64,
    /// Datagrams in these messages.
    pub datagrams: u64,
    /// UDP payload, in bytes.
    pub bytes: u64,
    /// Datagrams that the kernel dropped because a buffer was full (or a checksum wrong); a
    /// coalesced message counts once, as the kernel counts.
    pub kernel_drops: u64,
    /// Failed system calls.
    pub errors: u64,
}

/// One thread's counters, on cache lines of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct ShardCounters(Mutex<Totals>);

impl ShardCounters {
    pub(super) fn add(&self, batch: &Received<'_>) {
        let mut totals = self.0.lock();
        totals.batches += 1;
        totals.messages += batch.messages.len() as u64;
        for message in batch.messages {
            totals.datagrams += message.count() as u64;
            totals.bytes += message.bytes.len() as u64;
        }
    }

    pub(super) fn add_error(&self) {
        self.0.lock().errors += 1;
    }

    /// Updates the drops; `drops` is the kernel's 32-bit counter of this socket, which may wrap.
    pub(super) fn set_kernel_drops(&self, drops: Option<u32>) {
        let Some(drops) = drops else { return };
        let mut totals = self.0.lock();
        let known = &mut totals.kernel_drops;
        *known += u64::from(drops.wrapping_sub(*known as u32));
    }
}

/// Counters of all threads, and the receive path of each address.
#[derive(Debug)]
pub struct Counters {
    pub(super) shards: Vec<Arc<ShardCounters>>,
    /// Receive path of each address.
    pub paths: Vec<Path>,
}

impl Counters {
    pub(super) fn new(shards: usize, paths: Vec<Path>) -> Self {
        let shards = (0..shards).map(|_| Arc::default()).collect();
        Self { shards, paths }
    }

    /// Returns the sums over all threads.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let mut sum = Totals::default();
        for shard in &self.shards {
            let shard = shard.0.lock();
            sum.batches += shard.batches;
            sum.messages += shard.messages;
            sum.datagrams += shard.datagrams;
            sum.bytes += shard.bytes;
            sum.kernel_drops += shard.kernel_drops;
            sum.errors += shard.errors;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_drop_counter_may_wrap() {
        let shard = ShardCounters::default();
        shard.set_kernel_drops(Some(u32::MAX - 1));
        shard.set_kernel_drops(None);
        shard.set_kernel_drops(Some(3));
        assert_eq!(shard.0.lock().kernel_drops, (1 << 32) + 3);
    }
}
