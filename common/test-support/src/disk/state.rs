// SPDX-License-Identifier: Apache-2.0
//! State of the simulated disk, and how operations change it.

use crate::disk::cut::Survival;
use crate::disk::faults::{Errors, Fuse, Operation};
use crate::disk::file::{Change as Bytes, Content};
use crate::disk::names::{Change as Name, Names, Node};
use crate::rng::Rng;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

/// A sync takes as long as writing this many bytes.
const SYNC_BYTES: u64 = 64 << 10;

#[derive(Debug)]
pub(crate) struct State {
    pub rng: Rng,
    pub names: Names,
    pub files: BTreeMap<usize, Content>,
    next_file: usize,
    pub capacity_bytes: Option<u64>,
    pub errors: Errors,
    /// Kinds of operations that are to fail once, in this order.
    pub fails_once: VecDeque<Operation>,
    pub fuse: Option<Fuse>,
    pub on: bool,
    /// Number of starts; files and locks of an earlier start are invalid.
    pub starts: u64,
    pub operations: u64,
    pub ns_per_byte: u64,
    pub busy_ns: u64,
    pub locks: BTreeSet<PathBuf>,
}

pub(crate) fn no_power() -> Error {
    Error::other("the power is gone")
}

impl State {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            rng: Rng::of(seed),
            names: Names::root(),
            files: BTreeMap::new(),
            next_file: 0,
            capacity_bytes: None,
            errors: Errors::default(),
            fails_once: VecDeque::new(),
            fuse: None,
            on: true,
            starts: 0,
            operations: 0,
            ns_per_byte: 0,
            busy_ns: 0,
            locks: BTreeSet::new(),
        }
    }

    /// Begins an operation; returns whether the power goes in the middle of it.
    ///
    /// # Errors
    /// The power is off, or the disk was told to fail.
    fn begin(&mut self, operation: Operation) -> Result<bool> {
        if !self.on {
            return Err(no_power());
        }
        self.operations += 1;
        if self.fuse.as_mut().is_some_and(|f| f.blows(operation)) {
            self.on = false;
            return Ok(true);
        }
        let once = self.fails_once.front() == Some(&operation);
        if once {
            self.fails_once.pop_front();
        }
        let p = self.errors.of(operation);
        if once || p > 0.0 && self.rng.chance(p) {
            return Err(Error::other("input/output error"));
        }
        Ok(false)
    }

    /// Returns the total size of all files that have a name.
    fn used_bytes(&self) -> u64 {
        let named = self.names.live.values().filter_map(|n| match n {
            Node::File(id) => self.files.get(id),
            Node::Directory => None,
        });
        named.map(|f| f.live.len() as u64).sum()
    }

    pub(crate) fn room_bytes(&self) -> u64 {
        self.capacity_bytes
            .map_or(u64::MAX, |c| c.saturating_sub(self.used_bytes()))
    }

    pub(crate) fn file(&self, path: &Path) -> Result<usize> {
        match self.names.live.get(path) {
            Some(Node::File(id)) => Ok(*id),
            Some(Node::Directory) => Err(Error::from(ErrorKind::IsADirectory)),
            None => Err(Error::from(ErrorKind::NotFound)),
        }
    }

    pub(crate) fn read(&mut self, path: &Path) -> Result<Vec<u8>> {
        if self.begin(Operation::Read)? {
            return Err(no_power());
        }
        let id = self.file(path)?;
        Ok(self
            .files
            .get(&id)
            .map(|f| f.live.clone())
            .unwrap_or_default())
    }

    /// Changes names; a power cut in the middle leaves the change done or undone.
    pub(crate) fn name(&mut self, change: Name) -> Result<()> {
        if self.begin(Operation::Name)? {
            if self.rng.chance(0.5) {
                self.names.change(change);
            }
            return Err(no_power());
        }
        if let Name::Add(path, _) | Name::Rename(_, path, _) = &change {
            let parent = path.parent().and_then(|p| self.names.live.get(p));
            if parent != Some(&Node::Directory) {
                return Err(Error::from(ErrorKind::NotFound));
            }
        }
        let full = self.room_bytes() == 0 && self.rng.chance(0.5);
        if matches!(change, Name::Add(..)) && full {
            return Err(Error::from(ErrorKind::StorageFull));
        }
        self.names.change(change);
        Ok(())
    }

    /// Returns the file at a path; creates it if missing.
    pub(crate) fn make_file(&mut self, path: &Path) -> Result<usize> {
        if !self.on {
            return Err(no_power());
        }
        if self.names.live.contains_key(path) {
            return self.file(path);
        }
        let id = self.next_file;
        self.next_file += 1;
        self.files.insert(id, Content::default());
        self.name(Name::Add(path.into(), Node::File(id)))?;
        Ok(id)
    }

    /// Writes as many bytes as there is room for.
    pub(crate) fn write(&mut self, id: usize, bytes: &[u8]) -> Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let cut = self.begin(Operation::Write)?;
        let room = usize::try_from(self.room_bytes()).unwrap_or(usize::MAX);
        let mut count = bytes.len().min(room);
        if cut {
            count = self.rng.index(count + 1);
        }
        if let Some(f) = self.files.get_mut(&id).filter(|_| count > 0) {
            let (at, bytes) = (f.live.len(), bytes[..count].to_vec());
            f.change(Bytes::Write { at, bytes });
        }
        self.busy_ns += self.ns_per_byte * count as u64;
        match (cut, count) {
            (true, _) => Err(no_power()),
            (false, 0) => Err(Error::from(ErrorKind::StorageFull)),
            (false, n) => Ok(n),
        }
    }

    pub(crate) fn cut_file(&mut self, id: usize, length_bytes: u64) -> Result<()> {
        if self.begin(Operation::Write)? {
            return Err(no_power());
        }
        if let Some(f) = self.files.get_mut(&id) {
            let length = usize::try_from(length_bytes).unwrap_or(usize::MAX);
            f.change(Bytes::Cut(length));
        }
        Ok(())
    }

    pub(crate) fn sync(&mut self, id: usize) -> Result<()> {
        self.busy_ns += self.ns_per_byte * SYNC_BYTES;
        match self.begin(Operation::Sync) {
            Ok(false) => {
                if let Some(f) = self.files.get_mut(&id) {
                    f.synced();
                }
                Ok(())
            }
            Ok(true) => Err(no_power()),
            Err(e) => {
                if let (true, Some(f)) = (self.on, self.files.get_mut(&id)) {
                    f.sync_failed(&mut self.rng);
                }
                Err(e)
            }
        }
    }

    pub(crate) fn sync_directory(&mut self, directory: &Path) -> Result<()> {
        self.busy_ns += self.ns_per_byte * SYNC_BYTES;
        if self.begin(Operation::SyncDirectory)? {
            return Err(no_power());
        }
        match self.names.live.get(directory) {
            Some(Node::Directory) => self.names.sync(directory),
            _ => return Err(Error::from(ErrorKind::NotFound)),
        }
        Ok(())
    }

    /// Restores the power with the surviving content.
    pub(crate) fn restart(&mut self, how: Survival) {
        let rng = &mut self.rng;
        for f in self.files.values_mut() {
            let left = f.survive(how, rng);
            f.restart(left);
        }
        self.names.survive(how, rng);
        self.restarted();
        let named: BTreeSet<usize> = self
            .names
            .live
            .values()
            .filter_map(|n| match n {
                Node::File(id) => Some(*id),
                Node::Directory => None,
            })
            .collect();
        self.files.retain(|id, _| named.contains(id));
    }

    /// Starts again without a power cut: handles and locks of programs end.
    pub(crate) fn restarted(&mut self) {
        self.on = true;
        self.starts += 1;
        self.locks.clear();
        self.fuse = None;
    }
}
