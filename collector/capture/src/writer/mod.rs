// SPDX-License-Identifier: Apache-2.0
//! Writes a capture on a thread of its own, behind a bounded queue.

mod options;
mod stats;
mod steps;
mod tables;
mod thread;

use crate::error::CaptureError;
use crate::meta::{CaptureMeta, FILE};
use durable_fs::{DiskLock, SharedDisk, make_directories};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use tables::{Message, Tables};
use tidemark_rows::{Event, EventRow, FlatEvent, PostcardRow, ProbeRow};

pub use options::WriterOptions;
pub use stats::WriterStats;
pub use steps::WriterSteps;

/// Rows handed to the thread at once: few enough to be read from the cache still.
const BATCH_ROWS: usize = 2048;
/// Batches that may wait for the thread.
const QUEUE_BATCHES: usize = 256;

/// Takes rows from the pipeline.
pub struct CaptureWriter {
    disk: SharedDisk,
    dir: PathBuf,
    meta: CaptureMeta,
    sender: Option<SyncSender<Message>>,
    thread: Option<JoinHandle<Result<(), CaptureError>>>,
    stats: WriterStats,
    options: WriterOptions,
    postcards: Vec<PostcardRow>,
    probes: Vec<ProbeRow>,
    events: Vec<FlatEvent>,
    hosts: Vec<String>,
    /// The thread knows their names.
    hosts_sent: bool,
    /// Emptied lists that come back from the thread.
    spare: Receiver<Vec<PostcardRow>>,
    /// No other writer has the directory.
    _lock: Box<dyn DiskLock>,
}

/// Held while a capture is written; what remains of it says nothing.
const LOCK: &str = ".lock";

impl CaptureWriter {
    /// Starts a capture in `dir`, which is made if needed.
    ///
    /// # Errors
    /// When the directory holds a capture already or cannot be written.
    pub fn create(
        dir: &Path,
        meta: CaptureMeta,
        options: WriterOptions,
    ) -> Result<Self, CaptureError> {
        let (mut writer, steps) = Self::stepped(durable_fs::real(), dir, meta, options)?;
        let stats = writer.stats();
        let handle = std::thread::Builder::new()
            .name("capture".into())
            .spawn(move || {
                let result = thread::run(steps);
                if let Err(e) = &result {
                    stats.fail(e);
                }
                result
            })
            .map_err(CaptureError::io(dir))?;
        writer.thread = Some(handle);
        Ok(writer)
    }

    /// As [`CaptureWriter::create`], on a disk and without a thread: nothing is
    /// written but by [`WriterSteps`].
    ///
    /// # Errors
    /// As [`CaptureWriter::create`].
    pub fn stepped(
        disk: SharedDisk,
        dir: &Path,
        meta: CaptureMeta,
        options: WriterOptions,
    ) -> Result<(Self, WriterSteps), CaptureError> {
        make_directories(&*disk, dir).map_err(CaptureError::io(dir))?;
        let lock = disk.lock(&dir.join(LOCK)).map_err(CaptureError::io(dir))?;
        let lock = lock.ok_or_else(|| CaptureError::InUse(dir.to_path_buf()))?;
        let described = disk.exists(&dir.join(FILE));
        if described.map_err(CaptureError::io(dir))? {
            return Err(CaptureError::Exists(dir.to_path_buf()));
        }
        meta.write_on(&*disk, dir)?;
        let (give_back, spare) = sync_channel(QUEUE_BATCHES);
        let tables = Tables::new(&disk, dir, options, give_back)?;
        let stats = tables.stats.clone();
        let (sender, receiver) = sync_channel(QUEUE_BATCHES);
        let writer = Self {
            disk,
            dir: dir.to_path_buf(),
            meta,
            sender: Some(sender),
            thread: None,
            stats,
            options,
            postcards: Vec::new(),
            probes: Vec::new(),
            events: Vec::new(),
            hosts: Vec::new(),
            hosts_sent: false,
            spare,
            _lock: lock,
        };
        Ok((writer, WriterSteps { tables, receiver }))
    }

    /// Starts a capture in `dir`, or, where that holds one, in the first of `dir-2`, `dir-3` and so
    /// on that does not: a program that is started again writes next to its older capture.
    ///
    /// # Errors
    /// When the directory cannot be written.
    pub fn create_next(
        dir: &Path,
        meta: CaptureMeta,
        options: WriterOptions,
    ) -> Result<Self, CaptureError> {
        first_free(dir, |place| Self::create(place, meta.clone(), options))
    }

    /// As [`CaptureWriter::create_next`], on a disk and without a thread.
    ///
    /// # Errors
    /// As [`CaptureWriter::create_next`].
    pub fn stepped_next(
        disk: &SharedDisk,
        dir: &Path,
        meta: &CaptureMeta,
        options: WriterOptions,
    ) -> Result<(Self, WriterSteps), CaptureError> {
        first_free(dir, |place| {
            Self::stepped(Arc::clone(disk), place, meta.clone(), options)
        })
    }

    /// Directory of the capture.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
    /// Counters since the start.
    pub fn stats(&self) -> WriterStats {
        self.stats.clone()
    }

    /// Contents of the next `capture.json`; see [`CaptureWriter::write_meta`].
    pub fn meta_mut(&mut self) -> &mut CaptureMeta {
        &mut self.meta
    }

    /// Takes a reported packet. One that finds no room is counted as lost.
    #[inline]
    pub fn postcard(&mut self, row: &PostcardRow) {
        if self.postcards.capacity() == 0 {
            let spare = self.spare.try_recv();
            self.postcards = spare.unwrap_or_else(|_| Vec::with_capacity(BATCH_ROWS));
        }
        self.postcards.push(*row);
        if self.postcards.len() >= BATCH_ROWS {
            self.flush();
        }
    }

    /// Takes a sample; the same.
    #[inline]
    pub fn probe(&mut self, row: &ProbeRow) {
        self.probes.push(*row);
        if self.probes.len() >= BATCH_ROWS {
            self.flush();
        }
    }
    /// Takes an event; the same.
    pub fn event(&mut self, row: &EventRow) {
        if let Event::Host { host, name } = &row.event {
            // The samples before are of hosts with their names before.
            self.flush();
            self.hosts_sent = false;
            let i = usize::from(*host);
            if self.hosts.len() <= i {
                self.hosts.resize(i + 1, String::new());
            }
            self.hosts[i].clone_from(name);
        }
        self.events.push(FlatEvent::new(row, &self.hosts));
        if self.events.len() >= BATCH_ROWS {
            self.flush();
        }
    }

    /// Hands gathered rows to the writer's thread.
    pub fn flush(&mut self) {
        if !self.postcards.is_empty() {
            let rows = std::mem::take(&mut self.postcards);
            self.send(Message::Postcards(rows));
        }
        if !self.probes.is_empty() {
            let rows = std::mem::take(&mut self.probes);
            if !self.hosts_sent {
                let names = self.hosts.iter().map(|h| h.as_str().into()).collect();
                self.hosts_sent = self.send(Message::Hosts(names));
            }
            // Without their hosts' names samples would be worth nothing.
            if self.hosts_sent {
                self.send(Message::Probes(rows));
            } else {
                self.stats.add_lost(rows.len() as u64);
            }
        }
        if !self.events.is_empty() {
            let rows = std::mem::take(&mut self.events);
            self.send(Message::Events(rows));
        }
    }

    /// Asks the thread to write `capture.json` again.
    pub fn write_meta(&mut self) {
        let meta = Box::new(self.meta.clone());
        self.send(Message::Meta(meta));
    }

    /// False when there was no room or nobody to take it; its rows are counted.
    fn send(&self, message: Message) -> bool {
        let rows = message.rows();
        let sent = match &self.sender {
            None => false,
            Some(sender) if self.options.wait_when_full => sender.send(message).is_ok(),
            Some(sender) => sender.try_send(message).is_ok(),
        };
        if !sent {
            self.stats.add_lost(rows);
        }
        sent
    }

    /// Hands over what has gathered; nothing is taken any more.
    pub fn close(&mut self) {
        self.options.wait_when_full |= self.thread.is_some();
        self.flush();
        self.sender = None;
    }

    /// Completes all files and `capture.json`. Without a thread, its
    /// [steps](WriterSteps) have come to their end before.
    ///
    /// # Errors
    /// The error that stopped the writer, if one did. `capture.json` says that rows
    /// were lost then, where it can be written, and not that the capture ended.
    pub fn finish(mut self, ended_unix_ns: i64) -> Result<WriterStats, CaptureError> {
        self.close();
        let result = match self.thread.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(result)) => result,
            Some(Err(_)) => Err(CaptureError::Stopped("its thread panicked".into())),
        };
        self.meta.rows_lost = self.stats.lost();
        if let Err(e) = result {
            // The error to return is the one that stopped the writer.
            let _ = self.meta.write_on(&*self.disk, &self.dir);
            return Err(e);
        }
        self.meta.ended_unix_ns = Some(ended_unix_ns);
        self.meta.write_on(&*self.disk, &self.dir)?;
        Ok(self.stats.clone())
    }
}

/// The first of `dir`, `dir-2`, `dir-3` that holds no capture.
fn first_free<T>(
    dir: &Path,
    mut create: impl FnMut(&Path) -> Result<T, CaptureError>,
) -> Result<T, CaptureError> {
    let mut place = dir.to_path_buf();
    let mut number = 1u32;
    loop {
        match create(&place) {
            Err(CaptureError::Exists(_)) => {
                number += 1;
                place = numbered(dir, number);
            }
            result => return result,
        }
    }
}

/// `capture-2` for `capture`.
fn numbered(dir: &Path, number: u32) -> PathBuf {
    let mut name = dir.file_name().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    dir.with_file_name(name)
}

impl Drop for CaptureWriter {
    fn drop(&mut self) {
        self.flush();
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            // Its error has been logged and kept in the counters.
            let _ = thread.join();
        }
    }
}
