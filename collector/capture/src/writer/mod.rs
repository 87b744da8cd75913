// SPDX-License-Identifier: Apache-2.0
//! Writes a capture on its own thread, behind a bounded queue.

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

/// Rows per batch handed to the thread: few enough to stay in the cache.
const BATCH_ROWS: usize = 2048;
/// Number of batches that may wait for the thread.
const QUEUE_BATCHES: usize = 256;

/// Writer of a capture; takes rows from the pipeline.
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
    /// Whether the thread has the hosts' present names.
    hosts_sent: bool,
    /// Emptied buffers returned by the thread for reuse.
    spare: Receiver<Vec<PostcardRow>>,
    /// Lock that keeps other writers out of the directory.
    _lock: Box<dyn DiskLock>,
}

/// Lock file, held while a capture is written; a leftover file has no meaning.
const LOCK: &str = ".lock";

impl CaptureWriter {
    /// Starts a capture in `dir`, which is created if needed.
    ///
    /// # Errors
    /// The directory already holds a capture, or cannot be written.
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

    /// Like [`CaptureWriter::create`], but takes the disk and starts no thread: only
    /// [`WriterSteps`] writes.
    ///
    /// # Errors
    /// Same as [`CaptureWriter::create`].
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

    /// Starts a capture in the first of `dir`, `dir-2`, `dir-3` and so on that holds none, so that
    /// a restarted program writes next to its older captures.
    ///
    /// # Errors
    /// The directory cannot be written.
    pub fn create_next(
        dir: &Path,
        meta: CaptureMeta,
        options: WriterOptions,
    ) -> Result<Self, CaptureError> {
        first_free(dir, |place| Self::create(place, meta.clone(), options))
    }

    /// Like [`CaptureWriter::create_next`], but takes the disk and starts no thread.
    ///
    /// # Errors
    /// Same as [`CaptureWriter::create_next`].
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

    /// Takes a reported packet; rows that find no room in the queue are counted as lost.
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

    /// Takes a sample, like [`Self::postcard`].
    #[inline]
    pub fn probe(&mut self, row: &ProbeRow) {
        self.probes.push(*row);
        if self.probes.len() >= BATCH_ROWS {
            self.flush();
        }
    }
    /// Takes an event, like [`Self::postcard`].
    pub fn event(&mut self, row: &EventRow) {
        if let Event::Host { host, name } = &row.event {
            // Earlier samples belong to the hosts' earlier names.
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

    /// Hands the buffered rows to the writer's thread.
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
            // Samples are useless without their hosts' names.
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

    /// Sends a message; returns whether it was queued. If not, its rows are counted as lost.
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

    /// Hands over the buffered rows and takes no more.
    pub fn close(&mut self) {
        self.options.wait_when_full |= self.thread.is_some();
        self.flush();
        self.sender = None;
    }

    /// Completes all files and `capture.json`. Without a thread, call this after the
    /// [steps](WriterSteps) have ended.
    ///
    /// # Errors
    /// The error that stopped the writer, if any. In that case `capture.json`, if it can be
    /// written, says how many rows were lost, but not that the capture ended.
    pub fn finish(mut self, ended_unix_ns: i64) -> Result<WriterStats, CaptureError> {
        self.close();
        let result = match self.thread.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(result)) => result,
            Some(Err(_)) => Err(CaptureError::Stopped("its thread panicked".into())),
        };
        self.meta.rows_lost = self.stats.lost();
        if let Err(e) = result {
            // Return the error that stopped the writer, not an error of this write.
            let _ = self.meta.write_on(&*self.disk, &self.dir);
            return Err(e);
        }
        self.meta.ended_unix_ns = Some(ended_unix_ns);
        self.meta.write_on(&*self.disk, &self.dir)?;
        Ok(self.stats.clone())
    }
}

/// Calls `create` with `dir`, `dir-2`, `dir-3` and so on until one holds no capture.
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

/// Appends a number to a directory's name: `capture-2` for `capture`.
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
            // The thread's error is already logged and in `stats`.
            let _ = thread.join();
        }
    }
}
