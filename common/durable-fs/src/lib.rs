// SPDX-License-Identifier: Apache-2.0
//! The file operations of everything that stores: captures, the spool, the
//! controller's state and log.
//!
//! Three operations alone decide what survives a power cut: a file's bytes last after
//! [`DiskFile::sync`], a name lasts after [`Disk::sync_directory`], and [`Disk::rename`] is whole
//! or not at all. [`replace_private`] and [`make_directories`] put them in their order.
//!
//! [`real`] is the machine's. Tests and the simulation have one that loses power
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

/// A disk that stores share.
pub type SharedDisk = Arc<dyn Disk>;

/// An open file.
pub trait DiskFile: Write + Send {
    /// Puts what was written on the disk. After an error nobody knows what is
    /// there: what was written since the last success counts as lost.
    ///
    /// # Errors
    /// Errors of the disk.
    fn sync(&self) -> Result<()>;

    /// Length, bytes.
    ///
    /// # Errors
    /// Errors of the disk.
    fn length_bytes(&self) -> Result<u64>;

    /// Takes away what lies beyond so many bytes. What is written next follows
    /// them.
    ///
    /// # Errors
    /// Errors of the disk.
    fn cut(&self, length_bytes: u64) -> Result<()>;
}

/// A file in a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Name without the directory; one that is no UTF-8 is left out of lists.
    pub name: String,
    /// Length, bytes.
    pub length_bytes: u64,
}

/// Keeps others from a directory as long as it lives.
pub trait DiskLock: Send + Debug {}

/// A place for files.
pub trait Disk: Send + Sync + Debug {
    /// An empty file for writing, in the place of one that is there, which its group may read.
    /// Follows no link.
    ///
    /// # Errors
    /// Errors of the disk.
    fn create(&self, path: &Path) -> Result<Box<dyn DiskFile>>;

    /// A new file that its owner alone reads. Follows no link.
    ///
    /// # Errors
    /// Something is there already; those of the disk.
    fn create_private(&self, path: &Path) -> Result<Box<dyn DiskFile>>;

    /// A file that its owner alone reads, for appending; made where it is not
    /// there. Follows no link.
    ///
    /// # Errors
    /// A symbolic link in its place; those of the disk.
    fn append_private(&self, path: &Path) -> Result<Box<dyn DiskFile>>;

    /// The bytes of a file.
    ///
    /// # Errors
    /// No such file; those of the disk.
    fn read(&self, path: &Path) -> Result<Vec<u8>>;

    /// The last bytes of a file, at most so many; of something that has no
    /// length, none.
    ///
    /// # Errors
    /// No such file; those of the disk.
    fn read_end(&self, path: &Path, most_bytes: u64) -> Result<Vec<u8>>;

    /// Whether there is something by this name.
    ///
    /// # Errors
    /// Errors of the disk.
    fn exists(&self, path: &Path) -> Result<bool>;

    /// The files of a directory, in no order; directories are left out.
    ///
    /// # Errors
    /// No such directory; those of the disk.
    fn list(&self, directory: &Path) -> Result<Vec<Entry>>;

    /// Makes a directory in one that is there.
    ///
    /// # Errors
    /// Something is there already; those of the disk.
    fn make_directory(&self, path: &Path) -> Result<()>;

    /// Gives a file another name, in the place of one that has it.
    ///
    /// # Errors
    /// Errors of the disk.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// No such file; those of the disk.
    fn remove(&self, path: &Path) -> Result<()>;

    /// Puts the names in a directory on the disk.
    ///
    /// # Errors
    /// Errors of the disk.
    fn sync_directory(&self, directory: &Path) -> Result<()>;

    /// Locks a file, which is made where it is not there; none when somebody else
    /// holds it.
    ///
    /// # Errors
    /// Errors of the disk.
    fn lock(&self, path: &Path) -> Result<Option<Box<dyn DiskLock>>>;
}
