// SPDX-License-Identifier: Apache-2.0
//! File operations for all durable storage: captures, the spool, the controller's state
//! and log.
//!
//! Three operations decide what survives a power cut: a file's bytes survive after
//! [`DiskFile::sync`], a name survives after [`Disk::sync_directory`], and [`Disk::rename`] is
//! atomic. [`replace_private`] and [`make_directories`] call them in the right order.
//!
//! [`real`] is the machine's disk. Tests and the simulation use a disk that loses power
//! (`common/test-support/src/disk`).

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod durable;
mod real;
mod secret;

pub use durable::{make_directories, replace_private, sync_name};
pub use real::real;
pub use secret::read_secret;

use std::fmt::Debug;
use std::io::{Result, Write};
use std::path::Path;
use std::sync::Arc;

/// A disk shared by several stores.
pub type SharedDisk = Arc<dyn Disk>;

/// An open file.
pub trait DiskFile: Write + Send {
    /// Syncs the written bytes to the disk. After an error the content on the disk is
    /// unknown: everything written since the last success counts as lost.
    ///
    /// # Errors
    /// Errors of the disk.
    fn sync(&self) -> Result<()>;

    /// Length in bytes.
    ///
    /// # Errors
    /// Errors of the disk.
    fn length_bytes(&self) -> Result<u64>;

    /// Truncates the file to this length. The next write continues at the new
    /// end.
    ///
    /// # Errors
    /// Errors of the disk.
    fn cut(&self, length_bytes: u64) -> Result<()>;
}

/// A file in a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Name without the directory; lists leave out names that are not UTF-8.
    pub name: String,
    /// Length in bytes.
    pub length_bytes: u64,
}

/// Lock that keeps other processes out of a directory until it is dropped.
pub trait DiskLock: Send + Debug {}

/// A file system.
pub trait Disk: Send + Sync + Debug {
    /// Creates an empty file for writing, which its group may read; truncates an existing file.
    /// Follows no link.
    ///
    /// # Errors
    /// Errors of the disk.
    fn create(&self, path: &Path) -> Result<Box<dyn DiskFile>>;

    /// Creates a new file that only its owner can read. Follows no link.
    ///
    /// # Errors
    /// The name already exists, or the disk failed.
    fn create_private(&self, path: &Path) -> Result<Box<dyn DiskFile>>;

    /// Opens a file for appending that only its owner can read; creates it if missing.
    /// Follows no link.
    ///
    /// # Errors
    /// The path is a symbolic link, or the disk failed.
    fn append_private(&self, path: &Path) -> Result<Box<dyn DiskFile>>;

    /// Reads a whole file.
    ///
    /// # Errors
    /// The file does not exist, or the disk failed.
    fn read(&self, path: &Path) -> Result<Vec<u8>>;

    /// Reads the last bytes of a file, at most `most_bytes`; nothing from a special
    /// file without a length.
    ///
    /// # Errors
    /// The file does not exist, or the disk failed.
    fn read_end(&self, path: &Path, most_bytes: u64) -> Result<Vec<u8>>;

    /// Returns whether the path exists.
    ///
    /// # Errors
    /// Errors of the disk.
    fn exists(&self, path: &Path) -> Result<bool>;

    /// Lists the files of a directory, in no order, without directories.
    ///
    /// # Errors
    /// The directory does not exist, or the disk failed.
    fn list(&self, directory: &Path) -> Result<Vec<Entry>>;

    /// Creates a directory in an existing directory.
    ///
    /// # Errors
    /// The name already exists, or the disk failed.
    fn make_directory(&self, path: &Path) -> Result<()>;

    /// Renames a file, replacing a file with the new name.
    ///
    /// # Errors
    /// Errors of the disk.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// The file does not exist, or the disk failed.
    fn remove(&self, path: &Path) -> Result<()>;

    /// Syncs the names in a directory to the disk.
    ///
    /// # Errors
    /// Errors of the disk.
    fn sync_directory(&self, directory: &Path) -> Result<()>;

    /// Locks a file, which is created if missing; `None` if somebody else holds the
    /// lock.
    ///
    /// # Errors
    /// Errors of the disk.
    fn lock(&self, path: &Path) -> Result<Option<Box<dyn DiskLock>>>;
}
