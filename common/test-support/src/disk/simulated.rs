// SPDX-License-Identifier: Apache-2.0
//! The simulated disk as programs and tests see it.

use crate::disk::cut::Survival;
use crate::disk::faults::{Errors, Fuse, Operation};
use crate::disk::names::{Change as Name, Node};
use crate::disk::state::{State, no_power};
use durable_fs::{Disk, DiskFile, DiskLock, Entry, SharedDisk};
use parking_lot::{Mutex, MutexGuard};
use std::io::{Error, ErrorKind, Result, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A simulated disk in memory. Clones share the disk. Paths are absolute.
#[derive(Clone, Debug)]
pub struct SimDisk(Arc<Mutex<State>>);

impl SimDisk {
    /// Creates an empty disk. The seed decides what survives power cuts and what fails.
    pub fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(State::new(seed))))
    }

    /// Returns the disk in the form that stores take.
    pub fn shared(&self) -> SharedDisk {
        Arc::new(self.clone())
    }

    /// Sets the total room for files, in bytes; `None` for unlimited.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.0.lock().capacity_bytes = bytes;
    }

    /// Limits the free room to this many bytes.
    pub fn leave_room(&self, bytes: u64) {
        let mut s = self.0.lock();
        s.capacity_bytes = None;
        let used = {
            s.capacity_bytes = Some(u64::MAX);
            u64::MAX - s.room_bytes()
        };
        s.capacity_bytes = Some(used + bytes);
    }

    /// Sets how often operations fail from now on.
    pub fn set_errors(&self, errors: Errors) {
        self.0.lock().errors = errors;
    }

    /// Makes the next operation of a kind fail, after failures that are already queued.
    pub fn fail_once(&self, operation: Operation) {
        self.0.lock().fails_once.push_back(operation);
    }

    /// Sets the time per byte, in ns; see [`SimDisk::take_busy_ns`].
    pub fn set_slow(&self, ns_per_byte: u64) {
        self.0.lock().ns_per_byte = ns_per_byte;
    }

    /// Returns the duration of all operations since the last call, in ns.
    pub fn take_busy_ns(&self) -> u64 {
        std::mem::take(&mut self.0.lock().busy_ns)
    }

    /// Cuts the power in the middle of an operation, after `left` further operations of
    /// all kinds or of one kind.
    pub fn cut_after(&self, left: u64, operation: Option<Operation>) {
        self.0.lock().fuse = Some(Fuse { operation, left });
    }

    /// Cuts the power now.
    pub fn cut(&self) {
        self.0.lock().on = false;
    }

    /// Returns whether the power is on.
    pub fn is_on(&self) -> bool {
        self.0.lock().on
    }

    /// Returns the number of operations since the beginning.
    pub fn operations(&self) -> u64 {
        self.0.lock().operations
    }

    /// Restores the power; `how` decides which pending changes survived.
    pub fn restart(&self, how: Survival) {
        self.0.lock().restart(how);
    }

    /// Records that the programs were killed without a power cut: nothing is lost, and
    /// pending changes stay pending.
    pub fn killed(&self) {
        self.0.lock().restarted();
    }

    /// Copies the files of a directory to a directory of the machine, for programs that
    /// read real files.
    ///
    /// # Errors
    /// The machine's file system failed.
    pub fn export(&self, from: &Path, to: &Path) -> Result<()> {
        std::fs::create_dir_all(to)?;
        let s = self.0.lock();
        for (path, node) in &s.names.live {
            let Node::File(id) = node else { continue };
            let inside = path.parent() == Some(from);
            if let (true, Some(name), Some(f)) = (inside, path.file_name(), s.files.get(id)) {
                std::fs::write(to.join(name), &f.live)?;
            }
        }
        Ok(())
    }
}

struct SimFile {
    disk: SimDisk,
    id: usize,
    start: u64,
}

impl SimFile {
    fn lock(&self) -> Result<MutexGuard<'_, State>> {
        let s = self.disk.0.lock();
        // A mismatch means a handle from before a power cut or of a killed program.
        if s.starts == self.start {
            Ok(s)
        } else {
            Err(no_power())
        }
    }
}

impl Write for SimFile {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.lock()?.write(self.id, bytes)
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl DiskFile for SimFile {
    fn sync(&self) -> Result<()> {
        self.lock()?.sync(self.id)
    }

    fn length_bytes(&self) -> Result<u64> {
        let s = self.lock()?;
        Ok(s.files.get(&self.id).map_or(0, |f| f.live.len() as u64))
    }

    fn cut(&self, length_bytes: u64) -> Result<()> {
        self.lock()?.cut_file(self.id, length_bytes)
    }
}

#[derive(Debug)]
struct SimLock {
    disk: SimDisk,
    path: PathBuf,
    start: u64,
}

impl DiskLock for SimLock {}

impl Drop for SimLock {
    fn drop(&mut self) {
        let mut s = self.disk.0.lock();
        if s.starts == self.start {
            s.locks.remove(&self.path);
        }
    }
}

impl SimDisk {
    fn open(&self, id: usize, start: u64) -> Box<dyn DiskFile> {
        Box::new(SimFile {
            disk: self.clone(),
            id,
            start,
        })
    }
}

impl Disk for SimDisk {
    fn create(&self, path: &Path) -> Result<Box<dyn DiskFile>> {
        let mut s = self.0.lock();
        let id = s.make_file(path)?;
        if s.files.get(&id).is_some_and(|f| !f.live.is_empty()) {
            s.cut_file(id, 0)?;
        }
        let start = s.starts;
        drop(s);
        Ok(self.open(id, start))
    }

    fn create_private(&self, path: &Path) -> Result<Box<dyn DiskFile>> {
        if self.0.lock().names.live.contains_key(path) {
            return Err(Error::from(ErrorKind::AlreadyExists));
        }
        self.create(path)
    }

    fn append_private(&self, path: &Path) -> Result<Box<dyn DiskFile>> {
        let mut s = self.0.lock();
        let (id, start) = (s.make_file(path)?, s.starts);
        drop(s);
        Ok(self.open(id, start))
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>> {
        self.0.lock().read(path)
    }

    fn read_end(&self, path: &Path, most_bytes: u64) -> Result<Vec<u8>> {
        let bytes = self.0.lock().read(path)?;
        let most = usize::try_from(most_bytes).unwrap_or(usize::MAX);
        Ok(bytes[bytes.len().saturating_sub(most)..].to_vec())
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        let s = self.0.lock();
        if !s.on {
            return Err(no_power());
        }
        Ok(s.names.live.contains_key(path))
    }

    fn list(&self, directory: &Path) -> Result<Vec<Entry>> {
        let s = self.0.lock();
        if !s.on {
            return Err(no_power());
        }
        if s.names.live.get(directory) != Some(&Node::Directory) {
            return Err(Error::from(ErrorKind::NotFound));
        }
        let mut entries = Vec::new();
        for (path, node) in &s.names.live {
            let Node::File(id) = node else { continue };
            let name = path.file_name().and_then(|n| n.to_str());
            if let (true, Some(name)) = (path.parent() == Some(directory), name) {
                entries.push(Entry {
                    name: name.to_owned(),
                    length_bytes: s.files.get(id).map_or(0, |f| f.live.len() as u64),
                });
            }
        }
        Ok(entries)
    }

    fn make_directory(&self, path: &Path) -> Result<()> {
        let mut s = self.0.lock();
        if s.names.live.contains_key(path) {
            return Err(Error::from(ErrorKind::AlreadyExists));
        }
        s.name(Name::Add(path.into(), Node::Directory))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let mut s = self.0.lock();
        let id = s.file(from)?;
        s.name(Name::Rename(from.into(), to.into(), Node::File(id)))
    }

    fn remove(&self, path: &Path) -> Result<()> {
        let mut s = self.0.lock();
        s.file(path)?;
        s.name(Name::Remove(path.into()))
    }

    fn sync_directory(&self, directory: &Path) -> Result<()> {
        self.0.lock().sync_directory(directory)
    }

    fn lock(&self, path: &Path) -> Result<Option<Box<dyn DiskLock>>> {
        let mut s = self.0.lock();
        s.make_file(path)?;
        if !s.locks.insert(path.into()) {
            return Ok(None);
        }
        let start = s.starts;
        drop(s);
        let (disk, path) = (self.clone(), path.into());
        Ok(Some(Box::new(SimLock { disk, path, start })))
    }
}
