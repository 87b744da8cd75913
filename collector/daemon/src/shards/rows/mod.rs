// SPDX-License-Identifier: Apache-2.0
//! Merges the rows of several pipelines into one order.

use crate::engine::{RowSink, Standing};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::Arc;
use tidemark_pipeline::{Event, EventRow, PostcardRow, ProbeRow};
use tidemark_proto::telemetry::CollectorStatus;

/// Merges the rows of all pipelines into one order, which keeps the order of each pipeline, with
/// one numbering of hosts, so that stores and readers see the rows as of one pipeline.
pub struct RowMerge(Mutex<State>);

struct State {
    sinks: Vec<Box<dyn RowSink>>,
    /// Order of the next row.
    next: u64,
    /// Names of hosts by their number.
    hosts: Vec<String>,
    shards: Vec<OfShard>,
    /// Pipelines that have not ended.
    open: usize,
    postcards: Vec<PostcardRow>,
    probes: Vec<ProbeRow>,
}

#[derive(Clone, Default)]
struct OfShard {
    /// Order of the pipeline's next row.
    next: u64,
    /// Merged number of each of the pipeline's hosts.
    hosts: Vec<Option<u16>>,
    standing: Standing,
}

impl RowMerge {
    /// Creates a merge of the rows of `shards` pipelines, which go to `sinks`.
    pub fn new(sinks: Vec<Box<dyn RowSink>>, shards: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(State {
            sinks,
            next: 0,
            hosts: Vec::new(),
            shards: vec![OfShard::default(); shards],
            open: shards,
            postcards: Vec::new(),
            probes: Vec::new(),
        })))
    }

    /// Returns the sink for the rows of one pipeline.
    pub fn of_shard(self: &Arc<Self>, shard: usize) -> ShardRows {
        ShardRows {
            merge: Arc::clone(self),
            shard,
        }
    }
}

impl State {
    /// Takes a pipeline's rows below `end`; returns the number to add to their order.
    fn advance(&mut self, shard: usize, end: u64) -> u64 {
        let Some(of) = self.shards.get_mut(shard) else {
            return 0;
        };
        let shift = self.next.wrapping_sub(of.next);
        of.next = end;
        self.next = end.wrapping_add(shift);
        shift
    }

    fn host(&self, shard: usize, host: u16) -> u16 {
        let known = self.shards.get(shard);
        let number = known.and_then(|of| of.hosts.get(usize::from(host)));
        number.copied().flatten().unwrap_or(host)
    }

    /// Returns the merged number of a host that a pipeline has numbered.
    fn name(&mut self, shard: usize, host: u16, name: &str) -> u16 {
        let place = usize::from(host);
        if let Some(of) = self.shards.get_mut(shard) {
            if of.hosts.len() <= place {
                of.hosts.resize(place + 1, None);
            }
            of.hosts[place] = None;
        }
        let number = self.hosts.iter().position(|h| h == name);
        // Numbers that no pipeline refers to any more are used again.
        let number = number.or_else(|| {
            let used = self.shards.iter().flat_map(|of| of.hosts.iter().flatten());
            let used: BTreeSet<u16> = used.copied().collect();
            (0..self.hosts.len()).find(|n| !used.contains(&(*n as u16)))
        });
        let number = number.unwrap_or(self.hosts.len());
        if self.hosts.len() <= number {
            self.hosts.push(String::new());
        }
        if let Some(its) = self.hosts.get_mut(number) {
            name.clone_into(its);
        }
        let number = u16::try_from(number).unwrap_or(u16::MAX);
        if let Some(of) = self.shards.get_mut(shard) {
            of.hosts[place] = Some(number);
        }
        number
    }

    fn rows(&mut self, shard: usize, postcards: &[PostcardRow], probes: &[ProbeRow]) {
        let last = postcards.last().map(|r| r.order);
        let Some(last) = last.max(probes.last().map(|r| r.order)) else {
            return;
        };
        let shift = self.advance(shard, last + 1);
        let (mut p, mut s) = (
            std::mem::take(&mut self.postcards),
            std::mem::take(&mut self.probes),
        );
        p.clear();
        p.extend(postcards.iter().map(|r| PostcardRow {
            order: r.order.wrapping_add(shift),
            ..*r
        }));
        s.clear();
        s.extend(probes.iter().map(|r| ProbeRow {
            order: r.order.wrapping_add(shift),
            host: self.host(shard, r.host),
            ..*r
        }));
        for sink in &mut self.sinks {
            sink.rows(&p, &s);
        }
        (self.postcards, self.probes) = (p, s);
    }

    fn event(&mut self, shard: usize, row: &EventRow) {
        let shift = self.advance(shard, row.order + 1);
        let mut row = row.clone();
        row.order = row.order.wrapping_add(shift);
        match &mut row.event {
            Event::Host { host, name } => *host = self.name(shard, *host, name),
            Event::Retransmit(at) | Event::CongestionState { at, .. } => {
                at.host = self.host(shard, at.host);
            }
            Event::Flow(_) | Event::Clock(_) | Event::Watermark { .. } | Event::Restart { .. } => {}
        }
        for sink in &mut self.sinks {
            sink.event(&row);
        }
    }

    fn standing(&mut self, shard: usize, standing: &Standing) {
        if let Some(of) = self.shards.get_mut(shard) {
            of.standing.clone_from(standing);
        }
        let mut all = Standing::default();
        for of in &self.shards {
            all.clocks.extend_from_slice(&of.standing.clocks);
            all.stats += &of.standing.stats;
            let of_hops = &of.standing.nodes_of_hops_alone;
            all.nodes_of_hops_alone.extend_from_slice(of_hops);
            let (sum, of) = (&mut all.reception, &of.standing.reception);
            sum.datagrams += of.datagrams;
            sum.malformed += of.malformed;
            // Each pipeline reports the losses of the whole collector, at different moments.
            sum.kernel_drops = sum.kernel_drops.max(of.kernel_drops);
            sum.probe_lost = sum.probe_lost.max(of.probe_lost);
        }
        all.nodes_of_hops_alone.sort_unstable();
        for sink in &mut self.sinks {
            sink.standing(&all);
        }
    }
}

/// Sink through which one pipeline reaches the common stores.
pub struct ShardRows {
    merge: Arc<RowMerge>,
    shard: usize,
}

impl RowSink for ShardRows {
    fn rows(&mut self, postcards: &[PostcardRow], probes: &[ProbeRow]) {
        self.merge.0.lock().rows(self.shard, postcards, probes);
    }

    fn event(&mut self, row: &EventRow) {
        self.merge.0.lock().event(self.shard, row);
    }

    fn flush(&mut self) {
        for sink in &mut self.merge.0.lock().sinks {
            sink.flush();
        }
    }

    fn set_unix_offset(&mut self, unix_minus_rx_ns: i64) {
        for sink in &mut self.merge.0.lock().sinks {
            sink.set_unix_offset(unix_minus_rx_ns);
        }
    }

    fn standing(&mut self, standing: &Standing) {
        self.merge.0.lock().standing(self.shard, standing);
    }

    fn status(&self, status: &mut CollectorStatus) {
        for sink in &self.merge.0.lock().sinks {
            sink.status(status);
        }
    }

    /// Completes the sinks when the last pipeline has ended.
    fn finish(self: Box<Self>) -> anyhow::Result<()> {
        let mut state = self.merge.0.lock();
        state.open = state.open.saturating_sub(1);
        if state.open > 0 {
            return Ok(());
        }
        let sinks = std::mem::take(&mut state.sinks);
        drop(state);
        crate::engine::finish_all(sinks)
    }
}

#[cfg(test)]
mod tests;
