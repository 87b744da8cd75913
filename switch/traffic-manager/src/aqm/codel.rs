// SPDX-License-Identifier: Apache-2.0
//! Controlled delay (CoDel, RFC 8289): drops at the head of the queue once packets have waited
//! longer than the target for a whole interval; the longer that lasts, the more often it drops.

use super::packet::{Seen, Verdict};

/// A new dropping phase resumes the drop rate of the last one if it begins within this many
/// intervals (RFC 8289 §5.5, `16 * INTERVAL`).
const MEMORY_INTERVALS: u64 = 16;

/// Parameters of CoDel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoDelConfig {
    /// Acceptable standing delay, about 5 % of the interval (RFC 8289 §4.3).
    pub target_ns: u64,
    /// Time that senders need to react: a large round-trip time.
    pub interval_ns: u64,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

impl Default for CoDelConfig {
    fn default() -> Self {
        Self {
            target_ns: 5_000_000,
            interval_ns: 100_000_000,
            ecn: false,
        }
    }
}

impl CoDelConfig {
    pub(super) fn check(&self) -> Result<(), String> {
        let (target, interval) = (self.target_ns, self.interval_ns);
        if target == 0 || interval <= target {
            return Err(format!(
                "interval ({interval} ns) must be above target ({target} ns), which must be above 0"
            ));
        }
        Ok(())
    }

    /// Returns the time of the next drop (RFC 8289 §5.6).
    fn control_law(&self, ns: u64, count: u64) -> u64 {
        ns + (self.interval_ns as f64 / (count as f64).sqrt()) as u64
    }
}

/// Fate of the last packet that left the queue.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Last {
    #[default]
    WentOn,
    /// Dropped, which began the dropping state: the next packet is forwarded.
    BeganDropping,
    /// Dropped in the dropping state: the next packet decides whether dropping continues.
    Dropped,
}

/// State of CoDel. The RFC's dequeue drops a packet and looks at the next in one call; here each
/// packet is a call of its own, at the same time, and `last` says where the RFC's code stands.
#[derive(Debug)]
pub(super) struct CoDel {
    config: CoDelConfig,
    /// Largest frame seen: a backlog of at most this size is harmless.
    max_frame_bytes: u64,
    first_above_ns: Option<u64>,
    is_dropping: bool,
    drop_next_ns: u64,
    count: u64,
    last_count: u64,
    last: Last,
}

impl CoDel {
    pub(super) fn new(config: CoDelConfig) -> Self {
        Self {
            config,
            max_frame_bytes: 0,
            first_above_ns: None,
            is_dropping: false,
            drop_next_ns: 0,
            count: 0,
            last_count: 0,
            last: Last::WentOn,
        }
    }

    pub(super) fn arrive(&mut self, seen: &Seen) {
        self.max_frame_bytes = self.max_frame_bytes.max(seen.frame_bytes);
    }

    /// Decides the fate of a packet that leaves the queue (`dequeue`, RFC 8289 §5.5).
    pub(super) fn leave(&mut self, seen: &Seen, sojourn_ns: u64) -> Verdict {
        let now = seen.now_ns;
        let may_drop = self.may_drop(seen, sojourn_ns);
        match std::mem::take(&mut self.last) {
            Last::BeganDropping => return Verdict::Pass,
            Last::Dropped if may_drop => {
                self.drop_next_ns = self.config.control_law(self.drop_next_ns, self.count);
            }
            Last::Dropped | Last::WentOn => {}
        }
        if self.is_dropping && !may_drop {
            self.is_dropping = false;
            return Verdict::Pass;
        }
        if self.is_dropping {
            if now < self.drop_next_ns {
                return Verdict::Pass;
            }
            self.count += 1;
            if seen.markable {
                self.drop_next_ns = self.config.control_law(self.drop_next_ns, self.count);
                return Verdict::Mark;
            }
            self.last = Last::Dropped;
            return Verdict::Drop;
        }
        if !may_drop {
            return Verdict::Pass;
        }
        self.begin(now);
        if !seen.markable {
            self.last = Last::BeganDropping;
        }
        Verdict::signal(seen.markable)
    }

    fn begin(&mut self, now_ns: u64) {
        self.is_dropping = true;
        let added = self.count - self.last_count;
        let is_soon = now_ns.saturating_sub(self.drop_next_ns)
            < self.config.interval_ns.saturating_mul(MEMORY_INTERVALS);
        self.count = if added > 1 && is_soon { added } else { 1 };
        self.drop_next_ns = self.config.control_law(now_ns, self.count);
        self.last_count = self.count;
    }

    /// Returns whether packets have waited too long for an interval (`dodequeue`, RFC 8289 §5.6).
    fn may_drop(&mut self, seen: &Seen, sojourn_ns: u64) -> bool {
        if sojourn_ns < self.config.target_ns || seen.queue_bytes <= self.max_frame_bytes {
            self.first_above_ns = None;
            return false;
        }
        let first = *self
            .first_above_ns
            .get_or_insert(seen.now_ns + self.config.interval_ns);
        seen.now_ns >= first
    }
}

#[cfg(test)]
mod tests;
