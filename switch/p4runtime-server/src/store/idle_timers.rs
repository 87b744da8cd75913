// SPDX-License-Identifier: Apache-2.0
//! Timers of the entries with idle timeouts. Time is an argument.

use crate::target::EntryId;
use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

/// A table and one of its entries.
pub(crate) type Key = (u32, EntryId);

/// Times of the next check of each entry.
#[derive(Default)]
pub(crate) struct IdleTimers {
    /// Entries written since the last check, without a time yet.
    pub started: BTreeSet<Key>,
    by_time: BTreeSet<(Instant, Key)>,
    time_of: HashMap<Key, Instant>,
}

impl IdleTimers {
    /// Starts the timer of an entry that was added or written again.
    pub(crate) fn start(&mut self, key: Key) {
        self.stop(key);
        self.started.insert(key);
    }

    /// Stops the timer of an entry that is gone or no longer has a timeout.
    pub(crate) fn stop(&mut self, key: Key) {
        self.started.remove(&key);
        if let Some(at) = self.time_of.remove(&key) {
            self.by_time.remove(&(at, key));
        }
    }

    /// Sets the time of the entry's next check.
    pub(crate) fn set(&mut self, key: Key, at: Instant) {
        self.stop(key);
        self.by_time.insert((at, key));
        self.time_of.insert(key, at);
    }

    /// Takes the entries that are due.
    pub(crate) fn due(&mut self, now: Instant) -> Vec<Key> {
        let mut out = Vec::new();
        while let Some((at, key)) = self.by_time.first().copied() {
            if at > now {
                break;
            }
            self.stop(key);
            out.push(key);
        }
        out
    }

    /// Returns the time at which the next entry is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.by_time.first().map(|(at, _)| *at)
    }
}

#[cfg(test)]
#[path = "../tests/idle_timers.rs"]
mod tests;
