// SPDX-License-Identifier: Apache-2.0
//! The thread that gives rows to Parquet and cuts the files.

use super::message::Message;
use super::options::WriterOptions;
use super::stats::WriterStats;
use crate::error::CaptureError;
use crate::file::TableWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::Instant;
use tidemark_rows::{FlatEvent, NamedProbe, PostcardRow, ProbeRow};

/// The state of that thread: one open file per table.
pub(super) struct WriterThread {
    give_back: SyncSender<Vec<PostcardRow>>,
    dir: PathBuf,
    postcards: TableWriter<PostcardRow>,
    probes: TableWriter<NamedProbe>,
    events: TableWriter<FlatEvent>,
    hosts: Vec<Arc<str>>,
    /// Used again and again: names mostly stay in their places.
    named: Vec<NamedProbe>,
    options: WriterOptions,
    stats: WriterStats,
    opened: Instant,
}

impl WriterThread {
    pub(super) fn new(
        dir: &Path,
        options: WriterOptions,
        give_back: SyncSender<Vec<PostcardRow>>,
    ) -> Result<Self, CaptureError> {
        Ok(Self {
            give_back,
            dir: dir.to_path_buf(),
            postcards: TableWriter::new(dir, options.zstd_level)?,
            probes: TableWriter::new(dir, options.zstd_level)?,
            events: TableWriter::new(dir, options.zstd_level)?,
            hosts: Vec::new(),
            named: Vec::new(),
            options,
            stats: WriterStats::default(),
            opened: Instant::now(),
        })
    }

    pub(super) fn stats(&self) -> &WriterStats {
        &self.stats
    }

    pub(super) fn run(&mut self, receiver: &Receiver<Message>) -> Result<(), CaptureError> {
        self.opened = Instant::now();
        loop {
            let left = self
                .options
                .rotate_after
                .saturating_sub(self.opened.elapsed());
            match receiver.recv_timeout(left) {
                Ok(message) => {
                    let rows = message.rows();
                    let result = match message {
                        Message::Postcards(mut rows) => {
                            let result = self.postcards.write(&rows);
                            rows.clear();
                            // Nobody may be left to use it.
                            let _ = self.give_back.try_send(rows);
                            result
                        }
                        Message::Probes(rows) => self.write_probes(&rows),
                        Message::Hosts(names) => {
                            self.hosts = names;
                            Ok(())
                        }
                        Message::Events(rows) => self.events.write(&rows),
                        Message::Meta(meta) => meta.write(&self.dir),
                    };
                    if let Err(e) = result {
                        self.stats.add_lost(rows);
                        return Err(e);
                    }
                    self.stats.add_written(rows);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let open = self
                .postcards
                .open_rows()
                .max(self.probes.open_rows())
                .max(self.events.open_rows());
            if open >= self.options.rotate_rows
                || self.opened.elapsed() >= self.options.rotate_after
            {
                self.rotate()?;
            }
        }
        self.rotate()
    }

    fn write_probes(&mut self, rows: &[ProbeRow]) -> Result<(), CaptureError> {
        self.named.resize_with(rows.len(), NamedProbe::default);
        for (named, row) in self.named.iter_mut().zip(rows) {
            named.row = *row;
            let host = self.hosts.get(usize::from(row.host));
            if let Some(host) = host
                && !Arc::ptr_eq(host, &named.host)
            {
                named.host.clone_from(host);
            }
        }
        self.probes.write(&self.named)
    }

    /// All tables at once, so that a kill loses the same time of each.
    fn rotate(&mut self) -> Result<(), CaptureError> {
        self.opened = Instant::now();
        self.postcards.close()?;
        self.probes.close()?;
        self.events.close()
    }
}
