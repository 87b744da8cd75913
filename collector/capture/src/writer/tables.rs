// SPDX-License-Identifier: Apache-2.0
//! Writes rows to Parquet files and rotates them; retries after disk errors.

use super::options::WriterOptions;
use super::stats::WriterStats;
use crate::error::CaptureError;
use crate::file::TableWriter;
use crate::meta::CaptureMeta;
use crate::table::Stored;
use durable_fs::SharedDisk;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;
use tidemark_rows::{FlatEvent, NamedProbe, PostcardRow, ProbeRow};

/// Pause after a disk error before the next attempt.
const RETRY: Duration = Duration::from_secs(1);

/// Message to the writer: rows, host names or `capture.json`.
pub(super) enum Message {
    Postcards(Vec<PostcardRow>),
    Probes(Vec<ProbeRow>),
    /// Host names by index, for the samples that follow.
    Hosts(Vec<Arc<str>>),
    Events(Vec<FlatEvent>),
    Meta(Box<CaptureMeta>),
}

impl Message {
    pub(super) fn rows(&self) -> u64 {
        (match self {
            Self::Postcards(r) => r.len(),
            Self::Probes(r) => r.len(),
            Self::Events(r) => r.len(),
            Self::Meta(_) | Self::Hosts(_) => 0,
        }) as u64
    }
}

/// The open files, one per table. Times are since the start.
pub(super) struct Tables {
    disk: SharedDisk,
    give_back: SyncSender<Vec<PostcardRow>>,
    dir: PathBuf,
    postcards: TableWriter<PostcardRow>,
    probes: TableWriter<NamedProbe>,
    events: TableWriter<FlatEvent>,
    hosts: Vec<Arc<str>>,
    /// Buffer that is reused, because most names stay in their places.
    named: Vec<NamedProbe>,
    options: WriterOptions,
    pub stats: WriterStats,
    opened: Duration,
    /// Earliest time of the next attempt after an error.
    pause: Option<Duration>,
    /// Whether the last failure was in writing `capture.json`.
    meta_failed: bool,
}

impl Tables {
    pub(super) fn new(
        disk: &SharedDisk,
        dir: &Path,
        options: WriterOptions,
        give_back: SyncSender<Vec<PostcardRow>>,
    ) -> Result<Self, CaptureError> {
        let level = options.zstd_level;
        Ok(Self {
            disk: Arc::clone(disk),
            give_back,
            dir: dir.to_path_buf(),
            postcards: TableWriter::new(Arc::clone(disk), dir, level)?,
            probes: TableWriter::new(Arc::clone(disk), dir, level)?,
            events: TableWriter::new(Arc::clone(disk), dir, level)?,
            hosts: Vec::new(),
            named: Vec::new(),
            options,
            stats: WriterStats::default(),
            opened: Duration::ZERO,
            pause: None,
            meta_failed: false,
        })
    }

    /// Returns the time until files are due to be completed.
    pub(super) fn left(&self, now: Duration) -> Duration {
        let open = now.saturating_sub(self.opened);
        self.options.rotate_after.saturating_sub(open)
    }

    /// Completes the files if one has enough rows or they have been open long enough.
    pub(super) fn rotate_if_due(&mut self, now: Duration) -> Result<(), CaptureError> {
        let open = self
            .postcards
            .open_rows()
            .max(self.probes.open_rows())
            .max(self.events.open_rows());
        if open >= self.options.rotate_rows || self.left(now).is_zero() {
            let rotated = self.rotate(now);
            self.meta_failed &= rotated.is_ok();
            self.judge(rotated, now)?;
        }
        Ok(())
    }

    /// Writes a message, or counts its rows as lost.
    pub(super) fn take(&mut self, message: Message, now: Duration) -> Result<(), CaptureError> {
        let rows = message.rows();
        if self.pause.is_some_and(|until| now < until) {
            if let Message::Hosts(names) = message {
                self.hosts = names;
            }
            self.stats.add_lost(rows);
            return Ok(());
        }
        self.pause = None;
        let result = match message {
            Message::Postcards(mut rows) => {
                let result = self.postcards.write(&rows);
                rows.clear();
                // The sender may be gone or have enough buffers.
                let _ = self.give_back.try_send(rows);
                given_up(result, &mut self.postcards, &self.stats)
            }
            Message::Probes(rows) => {
                let result = self.write_probes(&rows);
                given_up(result, &mut self.probes, &self.stats)
            }
            Message::Hosts(names) => {
                self.hosts = names;
                Ok(())
            }
            Message::Events(rows) => {
                let result = self.events.write(&rows);
                given_up(result, &mut self.events, &self.stats)
            }
            Message::Meta(meta) => {
                let written = meta.write_on(&*self.disk, &self.dir);
                self.meta_judged(&written);
                written
            }
        };
        if result.is_err() {
            self.stats.add_lost(rows);
            self.meta_failed &= rows == 0;
        }
        self.judge(result, now)
    }

    /// Clears the failure when `capture.json` is written again, unless something else failed.
    fn meta_judged(&mut self, written: &Result<(), CaptureError>) {
        match written {
            Ok(()) if std::mem::take(&mut self.meta_failed) => self.stats.works(),
            Ok(()) => {}
            Err(_) => self.meta_failed = self.stats.failure().is_none(),
        }
    }

    /// Decides whether an error stops the writer: an import ends, a collector tries again
    /// later, because somebody may make room on the disk.
    fn judge(
        &mut self,
        result: Result<(), CaptureError>,
        now: Duration,
    ) -> Result<(), CaptureError> {
        let Err(error) = result else { return Ok(()) };
        self.stats.fail(&error);
        if self.options.wait_when_full {
            return Err(error);
        }
        self.pause = Some(now + RETRY);
        Ok(())
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

    /// Completes the files of all tables together, so that a kill loses the same time of
    /// each.
    pub(super) fn rotate(&mut self, now: Duration) -> Result<(), CaptureError> {
        self.opened = now;
        let closed = [
            complete(&mut self.postcards, &self.stats),
            complete(&mut self.probes, &self.stats),
            complete(&mut self.events, &self.stats),
        ];
        let mut written = false;
        for rows in closed {
            written |= rows? > 0;
        }
        if written {
            self.stats.works();
        }
        Ok(())
    }

    /// Completes all files for good. A file that counts as lost but still exists is an
    /// error, because the counters would disagree with the capture.
    pub(super) fn end(&mut self, now: Duration) -> Result<(), CaptureError> {
        self.rotate(now)?;
        self.postcards.remove_condemned()?;
        self.probes.remove_condemned()?;
        self.events.remove_condemned()
    }
}

/// Completes a table's file; returns its number of rows.
fn complete<R: Stored>(
    table: &mut TableWriter<R>,
    stats: &WriterStats,
) -> Result<usize, CaptureError> {
    let rows = given_up(table.close(), table, stats)?;
    // A leftover file is no reason to lose more rows; its removal is tried again later.
    let _ = table.remove_condemned();
    stats.add_written(rows as u64);
    Ok(rows)
}

/// After an error, gives up the table's open file and counts its rows as lost.
fn given_up<T, R: Stored>(
    result: Result<T, CaptureError>,
    table: &mut TableWriter<R>,
    stats: &WriterStats,
) -> Result<T, CaptureError> {
    if result.is_err() {
        stats.add_lost(table.abandon() as u64);
    }
    result
}
