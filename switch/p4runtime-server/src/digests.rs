// SPDX-License-Identifier: Apache-2.0
//! Batches digest messages into lists, and holds back messages that were not acknowledged yet.
//! Pure bookkeeping: lists are returned, not sent; the sender adds its timestamp.

use crate::pipeline::{Layout, Pipeline};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::digest_entry::Config;

/// Messages per list if the client sets no limit, as in BMv2.
const DEFAULT_LIST_SIZE: usize = 1024;
/// Most lists that wait for an acknowledgement; then the oldest are dropped.
const MAX_UNACKED: usize = 4096;

/// Digest data do not match the digest's type.
#[derive(Debug)]
pub(crate) struct Malformed;

/// All digests of the running pipeline.
#[derive(Default)]
pub(crate) struct Digests {
    by_name: HashMap<String, Gatherer>,
}

struct Gatherer {
    id: u32,
    layout: Option<Layout>,
    config: Option<Config>,
    pending: Vec<Vec<u8>>,
    pending_since: Option<Instant>,
    /// Data in `pending` or in a list that waits for acknowledgement.
    known: HashSet<Vec<u8>>,
    unacked: VecDeque<(u64, Instant, Vec<Vec<u8>>)>,
    next_list: u64,
}

impl Digests {
    /// Starts with the digests of a pipeline, none of them configured.
    pub(crate) fn new(pipeline: &Pipeline) -> Self {
        let by_name = pipeline.digests.values().map(|d| {
            let gatherer = Gatherer {
                id: d.id,
                layout: d.layout.clone().ok(),
                config: None,
                pending: Vec::new(),
                pending_since: None,
                known: HashSet::new(),
                unacked: VecDeque::new(),
                next_list: 1,
            };
            (d.name.clone(), gatherer)
        });
        Self {
            by_name: by_name.collect(),
        }
    }

    /// Applies the configurations that clients have written.
    pub(crate) fn configure(&mut self, configs: &BTreeMap<u32, Config>) {
        for g in self.by_name.values_mut() {
            let config = configs.get(&g.id).copied();
            if config.is_none() {
                g.forget();
            }
            g.config = config;
        }
    }

    /// Adds a message from the data plane; returns a list if the message completes one.
    ///
    /// # Errors
    /// The data do not match the digest's type.
    pub(crate) fn message(
        &mut self,
        digest: &str,
        data: &[u8],
        now: Instant,
    ) -> Result<Option<p4::DigestList>, Malformed> {
        let Some(g) = self.by_name.get_mut(digest) else {
            return Ok(None);
        };
        let Some(config) = g.config else {
            return Ok(None);
        };
        let decoded = g.layout.as_ref().and_then(|l| l.decode(data));
        decoded.ok_or(Malformed)?;
        g.expire(now);
        if !g.known.insert(data.to_vec()) {
            return Ok(None);
        }
        g.pending.push(data.to_vec());
        g.pending_since.get_or_insert(now);
        let most = match usize::try_from(config.max_list_size) {
            Ok(n) if n > 0 => n,
            _ => DEFAULT_LIST_SIZE,
        };
        let full = config.max_timeout_ns <= 0 || g.pending.len() >= most;
        Ok(full.then(|| g.list(now)).flatten())
    }

    /// Returns the lists whose oldest message has waited long enough.
    pub(crate) fn due(&mut self, now: Instant) -> Vec<p4::DigestList> {
        self.by_name
            .values_mut()
            .filter(|g| g.deadline().is_some_and(|d| d <= now))
            .filter_map(|g| g.list(now))
            .collect()
    }

    /// Returns the time at which [`due`](Self::due) will next return a list.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.by_name.values().filter_map(Gatherer::deadline).min()
    }

    /// Handles a client's acknowledgement of a list: the same data count as new again. Returns
    /// `false` if there is no such digest.
    pub(crate) fn ack(&mut self, ack: &p4::DigestListAck) -> bool {
        let Some(g) = self.by_name.values_mut().find(|g| g.id == ack.digest_id) else {
            return false;
        };
        if let Some(i) = g.unacked.iter().position(|(id, _, _)| *id == ack.list_id)
            && let Some((_, _, data)) = g.unacked.remove(i)
        {
            g.release(&data);
        }
        true
    }
}

impl Gatherer {
    fn deadline(&self) -> Option<Instant> {
        let wait = u64::try_from(self.config?.max_timeout_ns).unwrap_or(0);
        self.pending_since?.checked_add(Duration::from_nanos(wait))
    }

    fn list(&mut self, now: Instant) -> Option<p4::DigestList> {
        let config = self.config?;
        let layout = self.layout.as_ref()?;
        let sent = std::mem::take(&mut self.pending);
        self.pending_since = None;
        let out = p4::DigestList {
            digest_id: self.id,
            list_id: self.next_list,
            data: sent.iter().filter_map(|d| layout.decode(d)).collect(),
            timestamp: 0,
        };
        if config.ack_timeout_ns > 0 {
            self.unacked.push_back((self.next_list, now, sent));
            if self.unacked.len() > MAX_UNACKED
                && let Some((_, _, data)) = self.unacked.pop_front()
            {
                self.release(&data);
            }
        } else {
            self.release(&sent);
        }
        self.next_list += 1;
        Some(out)
    }

    /// Releases lists that were not acknowledged in time, as if they had been.
    fn expire(&mut self, now: Instant) {
        let wait = self.config.map_or(0, |c| c.ack_timeout_ns);
        let wait = Duration::from_nanos(u64::try_from(wait).unwrap_or(0));
        while self
            .unacked
            .front()
            .is_some_and(|(_, sent, _)| now.saturating_duration_since(*sent) >= wait)
        {
            if let Some((_, _, data)) = self.unacked.pop_front() {
                self.release(&data);
            }
        }
    }

    fn release(&mut self, data: &[Vec<u8>]) {
        for d in data {
            self.known.remove(d);
        }
    }

    fn forget(&mut self) {
        self.pending.clear();
        self.pending_since = None;
        self.known.clear();
        self.unacked.clear();
    }
}

#[cfg(test)]
#[path = "tests/digests.rs"]
mod tests;
