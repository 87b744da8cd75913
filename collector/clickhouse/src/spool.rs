// SPDX-License-Identifier: Apache-2.0
//! Batches on disk. A file gets its final name only when it is complete, and the
//! name holds everything except the rows.

use crate::config::Compression;
use crate::error::ClickHouseError;
use durable_fs::{Disk, DiskLock, SharedDisk, make_directories};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Properties of a batch that its file name holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BatchName {
    /// Unix time of the writer's start in s; together with `number` it orders batches
    /// as their rows.
    pub started_s: u64,
    pub number: u64,
    pub table: String,
    pub capture: String,
    /// `order` of the first row.
    pub batch: u64,
    pub rows: u64,
}

const TABLES: [&str; 3] = ["postcards", "tcp_probe", "events"];

impl BatchName {
    /// Token by which the server recognises the batch.
    pub(crate) fn token(&self) -> String {
        format!("{}-{}-{}", self.capture, self.table, self.batch)
    }

    pub(crate) fn file_name(&self, compression: Compression) -> String {
        let suffix = match compression {
            Compression::None => "native",
            Compression::Zstd => "native.zst",
        };
        format!(
            "{:012}.{:010}.{}.{}.{}.{}.{suffix}",
            self.started_s, self.number, self.table, self.capture, self.batch, self.rows
        )
    }

    /// Parses a file name.
    pub(crate) fn parse(name: &str) -> Option<(Self, Compression)> {
        let (stem, compression) = match name.strip_suffix(".native.zst") {
            Some(stem) => (stem, Compression::Zstd),
            None => (name.strip_suffix(".native")?, Compression::None),
        };
        let mut parts = stem.split('.');
        let batch = Self {
            started_s: parts.next()?.parse().ok()?,
            number: parts.next()?.parse().ok()?,
            table: parts.next()?.to_owned(),
            capture: parts.next()?.to_owned(),
            batch: parts.next()?.parse().ok()?,
            rows: parts.next()?.parse().ok()?,
        };
        (parts.next().is_none() && TABLES.contains(&batch.table.as_str()))
            .then_some((batch, compression))
    }
}

/// A batch whose file is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spooled {
    pub name: BatchName,
    pub compression: Compression,
    pub path: PathBuf,
    pub bytes: u64,
    /// Whether the server may already have the batch, as after an earlier start.
    pub doubtful: bool,
    /// Whether the file's name survives a power cut.
    pub lasts: bool,
}

impl Spooled {
    /// Number of rows that a power cut may lose: all of the batch, or none.
    pub(crate) fn unsynced_rows(&self) -> u64 {
        if self.lasts { 0 } else { self.name.rows }
    }
}

/// The spool directory, locked against other collectors.
pub(crate) struct Spool {
    disk: SharedDisk,
    dir: PathBuf,
    _lock: Box<dyn DiskLock>,
}

impl Spool {
    /// Opens the directory, removes half-written files and returns the batches that
    /// earlier starts left, oldest first.
    ///
    /// # Errors
    /// The directory cannot be used, or another collector uses it.
    pub(crate) fn open(
        disk: SharedDisk,
        dir: &Path,
    ) -> Result<(Self, Vec<Spooled>), ClickHouseError> {
        make_directories(&*disk, dir).map_err(ClickHouseError::io(dir))?;
        let path = dir.join("lock");
        let lock = disk.lock(&path).map_err(ClickHouseError::io(&path))?;
        let Some(lock) = lock else {
            return Err(ClickHouseError::SpoolInUse(dir.to_path_buf()));
        };
        let mut left = Vec::new();
        for entry in disk.list(dir).map_err(ClickHouseError::io(dir))? {
            let path = dir.join(&entry.name);
            if entry.name.ends_with(".open") {
                disk.remove(&path).map_err(ClickHouseError::io(&path))?;
            } else if let Some((name, compression)) = BatchName::parse(&entry.name) {
                left.push(Spooled {
                    name,
                    compression,
                    path,
                    bytes: entry.length_bytes,
                    doubtful: true,
                    lasts: true,
                });
            } else if entry.name != "lock" {
                tracing::warn!(
                    "clickhouse spool: {}: not a batch; it is left alone",
                    path.display()
                );
            }
        }
        left.sort_by(|a, b| a.name.cmp(&b.name));
        let spool = Self {
            disk,
            dir: dir.to_path_buf(),
            _lock: lock,
        };
        Ok((spool, left))
    }

    /// Writes a batch. Its file gets its final name when it is complete and on the disk;
    /// the name survives a power cut after [`Spool::sync`].
    ///
    /// # Errors
    /// The disk failed; the file is then removed.
    pub(crate) fn put(
        &self,
        name: BatchName,
        body: &[u8],
        compression: Compression,
    ) -> Result<Spooled, ClickHouseError> {
        let file_name = name.file_name(compression);
        let path = self.dir.join(&file_name);
        let open = self.dir.join(format!("{file_name}.open"));
        let write = || {
            let mut file = self.disk.create(&open)?;
            file.write_all(body)?;
            file.sync()?;
            self.disk.rename(&open, &path)
        };
        if let Err(e) = write() {
            // The write error is the one to report.
            let _ = self.disk.remove(&open);
            return Err(ClickHouseError::io(open)(e));
        }
        Ok(Spooled {
            name,
            compression,
            path,
            bytes: body.len() as u64,
            doubtful: false,
            lasts: false,
        })
    }

    /// Syncs the names of batches to the disk.
    pub(crate) fn sync(&self) -> Result<(), ClickHouseError> {
        let synced = self.disk.sync_directory(&self.dir);
        synced.map_err(ClickHouseError::io(&self.dir))
    }

    /// Moves a batch that cannot be inserted to `rejected/`, which the next start ignores.
    ///
    /// # Errors
    /// The disk failed; the batch then stays in the spool.
    pub(crate) fn reject(disk: &dyn Disk, batch: &Spooled) -> Result<PathBuf, ClickHouseError> {
        let parent = batch.path.parent().unwrap_or(Path::new("."));
        let dir = parent.join("rejected");
        make_directories(disk, &dir).map_err(ClickHouseError::io(&dir))?;
        let to = dir.join(batch.path.file_name().unwrap_or_default());
        let renamed = disk.rename(&batch.path, &to);
        renamed.map_err(ClickHouseError::io(&batch.path))?;
        // The batch has left. A power cut may bring it back; it is then refused again.
        for dir in [dir.as_path(), parent] {
            if let Err(e) = disk.sync_directory(dir) {
                tracing::error!("clickhouse spool: {}: {e}", dir.display());
            }
        }
        Ok(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(number: u64) -> BatchName {
        BatchName {
            started_s: 1_700_000_000,
            number,
            table: "postcards".into(),
            capture: "00ff".into(),
            batch: 17,
            rows: 3,
        }
    }

    #[test]
    fn names_survive() {
        for c in [Compression::None, Compression::Zstd] {
            let file = name(5).file_name(c);
            assert_eq!(BatchName::parse(&file), Some((name(5), c)));
            assert_eq!(BatchName::parse(&format!("{file}.open")), None);
        }
        for bad in ["lock", "a.b.native", "1.2.passwd.c.5.6.native"] {
            assert_eq!(BatchName::parse(bad), None);
        }
    }

    #[test]
    fn what_was_left_comes_back_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let (spool, left) = Spool::open(durable_fs::real(), dir.path()).unwrap();
        assert!(left.is_empty());
        assert!(matches!(
            Spool::open(durable_fs::real(), dir.path()),
            Err(ClickHouseError::SpoolInUse(_))
        ));
        for n in [10, 9, 11] {
            spool.put(name(n), b"abc", Compression::None).unwrap();
        }
        std::fs::write(dir.path().join("x.native.open"), "half").unwrap();
        drop(spool);
        let (_spool, left) = Spool::open(durable_fs::real(), dir.path()).unwrap();
        let numbers: Vec<u64> = left.iter().map(|s| s.name.number).collect();
        assert_eq!(numbers, [9, 10, 11]);
        assert!(left.iter().all(|s| s.doubtful && s.bytes == 3));
        assert!(!dir.path().join("x.native.open").exists());
        let to = Spool::reject(&*durable_fs::real(), &left[0]).unwrap();
        assert!(to.exists() && !left[0].path.exists());
    }
}
