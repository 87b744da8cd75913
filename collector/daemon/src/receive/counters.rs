// SPDX-License-Identifier: Apache-2.0
//! Counters of the receiving threads, readable at any time from any other.

use std::sync::atomic::{AtomicU64, Ordering};

use super::received::Received;

/// One thread's counters, on cache lines of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct ShardCounters {
    batches: AtomicU64,
    messages: AtomicU64,
    datagrams: AtomicU64,
    bytes: AtomicU64,
    kernel_drops: AtomicU64,
    errors: AtomicU64,
}

/// Sums over some or all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// System calls that brought something.
    pub batches: u64,
    /// Messages of the kernel: single or coalesced datagrams.
    pub messages: u64,
    /// Datagrams in them.
    pub datagrams: u64,
    /// UDP payload.
    pub bytes: u64,
    /// Datagrams that found a socket's buffer full (and bad checksums); a
    /// coalesced message counts once, as the kernel counts.
    pub kernel_drops: u64,
    /// Failed system calls.
    pub errors: u64,
}

impl ShardCounters {
    pub(super) fn add(&self, batch: &Received<'_>) {
        let mut datagrams = 0;
        let mut bytes = 0;
        for message in batch.messages() {
            datagrams += message.count();
            bytes += message.bytes.len();
        }
        let add = |counter: &AtomicU64, n: usize| counter.fetch_add(n as u64, Ordering::Relaxed);
        add(&self.batches, 1);
        add(&self.messages, batch.messages.len());
        add(&self.datagrams, datagrams);
        add(&self.bytes, bytes);
    }

    pub(super) fn add_error(&self) {
        self.errors.fetch_add(1, Ordering::Relaxed);
    }

    /// `drops`: the kernel's 32-bit counter of this socket, which may wrap.
    pub(super) fn set_kernel_drops(&self, drops: Option<u32>) {
        let Some(drops) = drops else { return };
        // Only this shard's thread writes here.
        let known = self.kernel_drops.load(Ordering::Relaxed);
        let more = drops.wrapping_sub(known as u32);
        self.kernel_drops
            .store(known + u64::from(more), Ordering::Relaxed);
    }

    fn totals(&self) -> Totals {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Totals {
            batches: get(&self.batches),
            messages: get(&self.messages),
            datagrams: get(&self.datagrams),
            bytes: get(&self.bytes),
            kernel_drops: get(&self.kernel_drops),
            errors: get(&self.errors),
        }
    }
}

/// Counters of all threads.
#[derive(Debug)]
pub struct Counters {
    shards: Vec<ShardCounters>,
    /// Stands in for a number that does not exist.
    spare: ShardCounters,
}

impl Counters {
    pub(super) fn new(shards: usize) -> Self {
        Self {
            shards: (0..shards).map(|_| ShardCounters::default()).collect(),
            spare: ShardCounters::default(),
        }
    }

    pub(super) fn shard(&self, shard: usize) -> &ShardCounters {
        self.shards.get(shard).unwrap_or(&self.spare)
    }

    /// Of each thread.
    #[must_use]
    pub fn shards(&self) -> Vec<Totals> {
        self.shards.iter().map(ShardCounters::totals).collect()
    }

    /// Of all threads.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let mut sum = Totals::default();
        for shard in self.shards() {
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
        assert_eq!(shard.totals().kernel_drops, (1 << 32) + 3);
    }
}
