// SPDX-License-Identifier: Apache-2.0
//! When the entries with idle timeouts are looked at. Time is an argument.

use crate::target::EntryId;
use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

/// A table and an entry of it.
pub(crate) type Key = (u32, EntryId);

/// When entries are looked at next.
#[derive(Default)]
pub(crate) struct IdleTimers {
    /// Written since the last look, not timed yet.
    pub started: BTreeSet<Key>,
    by_time: BTreeSet<(Instant, Key)>,
    time_of: HashMap<Key, Instant>,
}

impl IdleTimers {
    /// The entry was added, or written again.
    pub(crate) fn start(&mut self, key: Key) {
        self.stop(key);
        self.started.insert(key);
    }

    /// The entry is gone, or has no timeout any more.
    pub(crate) fn stop(&mut self, key: Key) {
        self.started.remove(&key);
        if let Some(at) = self.time_of.remove(&key) {
            self.by_time.remove(&(at, key));
        }
    }

    /// Looks at the entry then, and at no other time.
    pub(crate) fn set(&mut self, key: Key, at: Instant) {
        self.stop(key);
        self.by_time.insert((at, key));
        self.time_of.insert(key, at);
    }

    /// Takes what is due.
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

    /// When the next is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.by_time.first().map(|(at, _)| *at)
    }
}

#[cfg(test)]
#[path = "../tests/idle_timers.rs"]
mod tests;
