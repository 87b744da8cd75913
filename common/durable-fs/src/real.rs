// SPDX-License-Identifier: Apache-2.0
//! The machine's own disk.

use crate::{Disk, DiskFile, DiskLock, Entry, SharedDisk};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Read as _, Result, Seek as _, SeekFrom};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;

/// Mode of private files: only the owner can read and write them.
const MODE: u32 = 0o600;
/// Mode of shared files: the group may read them.
const SHARED_MODE: u32 = 0o640;

#[derive(Debug)]
struct Real;

/// The machine's own disk.
pub fn real() -> SharedDisk {
    Arc::new(Real)
}

impl DiskFile for File {
    fn sync(&self) -> Result<()> {
        self.sync_data()
    }

    fn length_bytes(&self) -> Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn cut(&self, length_bytes: u64) -> Result<()> {
        self.set_len(length_bytes)?;
        let mut file = self;
        file.seek(SeekFrom::Start(length_bytes)).map(drop)
    }
}

#[derive(Debug)]
struct RealLock {
    _held: Flock<File>,
}

impl DiskLock for RealLock {}

impl Disk for Real {
    fn create(&self, path: &Path) -> Result<Box<dyn DiskFile>> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(SHARED_MODE)
            .custom_flags(libc::O_NOFOLLOW)
            .open(path)?;
        Ok(Box::new(file))
    }

    fn create_private(&self, path: &Path) -> Result<Box<dyn DiskFile>> {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(MODE)
            .custom_flags(libc::O_NOFOLLOW)
            .open(path)?;
        Ok(Box::new(file))
    }

    fn append_private(&self, path: &Path) -> Result<Box<dyn DiskFile>> {
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(MODE)
            .custom_flags(libc::O_NOFOLLOW)
            .open(path)?;
        // The file may have been created by an older version.
        let meta = file.metadata()?;
        if meta.is_file() && meta.permissions().mode() & 0o777 != MODE {
            file.set_permissions(Permissions::from_mode(MODE))?;
        }
        Ok(Box::new(file))
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>> {
        fs::read(path)
    }

    fn read_end(&self, path: &Path, most_bytes: u64) -> Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length_bytes = file.metadata()?.len();
        let bytes = most_bytes.min(length_bytes);
        file.seek(SeekFrom::Start(length_bytes - bytes))?;
        let mut end = Vec::new();
        file.take(bytes).read_to_end(&mut end)?;
        Ok(end)
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        fs::exists(path)
    }

    fn list(&self, directory: &Path) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let meta = entry.metadata()?;
            if meta.is_file() {
                entries.push(Entry {
                    name,
                    length_bytes: meta.len(),
                });
            }
        }
        Ok(entries)
    }

    fn make_directory(&self, path: &Path) -> Result<()> {
        fs::create_dir(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        fs::remove_file(path)
    }

    fn sync_directory(&self, directory: &Path) -> Result<()> {
        File::open(directory)?.sync_data()
    }

    fn lock(&self, path: &Path) -> Result<Option<Box<dyn DiskLock>>> {
        // The file's content, if any, has no meaning.
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(MODE)
            .custom_flags(libc::O_NOFOLLOW)
            .open(path)?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(held) => Ok(Some(Box::new(RealLock { _held: held }))),
            Err((_, Errno::EWOULDBLOCK)) => Ok(None),
            Err((_, e)) => Err(e.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{make_directories, replace_private};
    use std::io::Write as _;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn no_link_is_followed_and_nobody_else_reads() {
        let disk = real();
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        fs::write(&victim, "untouched").unwrap();
        let path = dir.path().join("state.json");
        std::os::unix::fs::symlink(&victim, dir.path().join("state.json.part")).unwrap();
        replace_private(&*disk, &path, b"new").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "untouched");
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(mode(&path), 0o600);
        replace_private(&*disk, &path, b"newer").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "newer");

        let link = dir.path().join("audit.jsonl");
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        assert!(disk.append_private(&link).is_err());
        fs::remove_file(&link).unwrap();
        fs::write(&link, "old").unwrap();
        fs::set_permissions(&link, Permissions::from_mode(0o644)).unwrap();
        disk.append_private(&link).unwrap();
        assert_eq!(mode(&link), 0o600);
    }

    #[test]
    fn files_are_listed_read_and_locked() {
        let disk = real();
        let top = tempfile::tempdir().unwrap();
        let dir = top.path().join("a/b");
        make_directories(&*disk, &dir).unwrap();
        make_directories(&*disk, &dir).unwrap();
        disk.make_directory(&dir.join("not a file")).unwrap();
        let path = dir.join("x");
        let mut file = disk.create(&path).unwrap();
        file.write_all(b"0123456789").unwrap();
        file.cut(8).unwrap();
        file.write_all(b"z").unwrap();
        file.sync().unwrap();
        assert_eq!(file.length_bytes().unwrap(), 9);
        assert_eq!(disk.read(&path).unwrap(), b"01234567z");
        assert_eq!(disk.read_end(&path, 3).unwrap(), b"67z");
        let entries = disk.list(&dir).unwrap();
        assert_eq!(entries.len(), 1);
        assert_eq!((&*entries[0].name, entries[0].length_bytes), ("x", 9));
        disk.rename(&path, &dir.join("y")).unwrap();
        disk.sync_directory(&dir).unwrap();
        assert!(!disk.exists(&path).unwrap());
        let lock = dir.join("lock");
        let held = disk.lock(&lock).unwrap();
        assert!(held.is_some() && disk.lock(&lock).unwrap().is_none());
        drop(held);
        assert!(disk.lock(&lock).unwrap().is_some());
    }

    #[test]
    fn no_file_is_made_behind_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let (victim, link) = (dir.path().join("victim"), dir.path().join("link"));
        fs::write(&victim, "untouched").unwrap();
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        assert!(Real.create(&link).is_err() && Real.lock(&link).is_err());
        assert_eq!(fs::read_to_string(&victim).unwrap(), "untouched");
        let path = dir.path().join("file");
        drop(Real.create(&path).unwrap());
        assert_eq!(mode(&path), 0o640);
    }
}
