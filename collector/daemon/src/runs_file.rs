// SPDX-License-Identifier: Apache-2.0
//! Keeps the newest datagram of each exporter with a key across starts of the collector, so that
//! none is taken again.
//!
//! The file is ahead of the datagrams received, so that even after a kill it covers all that were
//! taken, except during the first two checks of a run; instead, the next start refuses up to a
//! second of honest reports. A collector that ends normally writes the exact state.

use crate::engine::SharedSnapshot;
use anyhow::{Context, Result, ensure};
use durable_fs::{DiskLock, SharedDisk, replace_private};
use int_report::tag::Run;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// How often to check whether the file is still ahead.
const LOOK: Duration = Duration::from_millis(200);
/// How far the file is ahead, in checks: one second's worth of datagrams.
const AHEAD: u64 = 5;
const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    format: u32,
    runs: BTreeMap<u32, Kept>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    boot: u64,
    datagram: u64,
}

/// The `runs_file` of one collector.
pub(crate) struct RunsFile {
    path: PathBuf,
    disk: SharedDisk,
    /// Runs in the file.
    kept: BTreeMap<u32, Run>,
    /// Runs at the last check.
    looked: BTreeMap<u32, Run>,
    failed: bool,
    _lock: Box<dyn DiskLock>,
}

impl RunsFile {
    /// # Errors
    /// A file that another collector uses, or that cannot be read or written.
    pub(crate) fn open(disk: SharedDisk, path: &Path) -> Result<Self> {
        let shown = path.display();
        let mut lock = path.as_os_str().to_owned();
        lock.push(".lock");
        let lock = disk
            .lock(Path::new(&lock))
            .with_context(|| format!("{shown}"))?;
        let lock = lock.with_context(|| {
            format!("{shown} is in use by another collector; give each its own runs_file")
        })?;
        let kept = match disk.read(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => BTreeMap::new(),
            read => parse(&read.with_context(|| format!("{shown}"))?).with_context(|| {
                format!("{shown}: not what a collector writes; without it any run is taken")
            })?,
        };
        let mut file = Self {
            path: path.to_owned(),
            disk,
            looked: kept.clone(),
            kept: kept.clone(),
            failed: false,
            _lock: lock,
        };
        file.write(kept).with_context(|| format!("{shown}"))?;
        Ok(file)
    }

    /// Returns the newest run of each node, as the file has it.
    pub(crate) fn runs(&self) -> &BTreeMap<u32, Run> {
        &self.kept
    }

    /// Follows what the engines take, until `ended` says that they are done.
    pub(crate) fn follow(mut self, taken: &SharedSnapshot, ended: &Receiver<()>) {
        while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
            self.look(&taken.get().runs);
        }
        let newest = taken.get().runs;
        let mut kept = self.kept.clone();
        kept.extend(newest);
        self.try_write(kept);
    }

    /// Writes the file if it would be overtaken before the next check.
    fn look(&mut self, newest: &BTreeMap<u32, Run>) {
        let mut kept = self.kept.clone();
        let mut is_overtaken = false;
        for (&node, &run) in newest {
            let before = self.looked.get(&node).filter(|b| b.boot == run.boot);
            // The rate of a run that was not seen before is not known yet.
            let came = before.map_or(0, |b| run.datagram.saturating_sub(b.datagram));
            let after = |looks: u64| Run {
                datagram: run.datagram.saturating_add(came.saturating_mul(looks)),
                ..run
            };
            let is_new = before.is_none() || came > 0;
            if is_new && self.kept.get(&node).is_none_or(|&kept| kept < after(1)) {
                is_overtaken = true;
                kept.insert(node, after(AHEAD));
            }
        }
        self.looked.clone_from(newest);
        if is_overtaken {
            self.try_write(kept);
        }
    }

    /// Writes the file, and logs a failure once.
    fn try_write(&mut self, kept: BTreeMap<u32, Run>) {
        let failed = match self.write(kept) {
            Ok(()) => false,
            Err(e) => {
                if !self.failed {
                    tracing::error!(
                        "runs_file: {}: {e}; a recording may be accepted after the next start",
                        self.path.display()
                    );
                }
                true
            }
        };
        self.failed = failed;
    }

    fn write(&mut self, kept: BTreeMap<u32, Run>) -> Result<()> {
        let of = |run: &Run| Kept {
            boot: run.boot,
            datagram: run.datagram,
        };
        let content = Content {
            format: FORMAT,
            runs: kept.iter().map(|(&node, run)| (node, of(run))).collect(),
        };
        let text = serde_json::to_vec(&content)?;
        replace_private(&*self.disk, &self.path, &text)?;
        self.kept = kept;
        Ok(())
    }
}

fn parse(text: &[u8]) -> Result<BTreeMap<u32, Run>> {
    let content: Content = serde_json::from_slice(text)?;
    ensure!(content.format == FORMAT, "its format is {}", content.format);
    let run = |k: Kept| Run {
        boot: k.boot,
        datagram: k.datagram,
    };
    Ok(content.runs.into_iter().map(|(n, k)| (n, run(k))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use durable_fs::real;

    fn at(boot: u64, datagram: u64) -> BTreeMap<u32, Run> {
        [(10, Run { boot, datagram })].into()
    }

    fn on_disk(path: &Path) -> BTreeMap<u32, Run> {
        parse(&std::fs::read(path).unwrap()).unwrap()
    }

    #[test]
    fn the_file_is_ahead_of_what_came() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("runs.json");
        let mut file = RunsFile::open(real(), &path).unwrap();
        assert!(file.runs().is_empty());
        let other = RunsFile::open(real(), &path).err().unwrap();
        assert!(other.to_string().contains("another collector"), "{other}");
        let mut writes = 0;
        let mut before = on_disk(&path);
        for look in 1..=100u64 {
            // A thousand per check, then four times as many.
            let came = if look <= 50 {
                1000 * look
            } else {
                50_000 + 4000 * (look - 50)
            };
            file.look(&at(7, came));
            let now = on_disk(&path);
            let ahead = now[&10].datagram - came;
            let expected = if look == 1 { 0..=0 } else { 1000..=20_000 };
            assert!(expected.contains(&ahead), "{look}: {ahead}");
            writes += u32::from(now != before);
            before = now;
        }
        assert!((15..40).contains(&writes), "{writes}");
        // Silence causes no write, and another run is written at once.
        std::fs::remove_file(&path).unwrap();
        file.look(&at(7, 250_000));
        assert!(!path.exists());
        file.look(&at(9, 3));
        assert_eq!(on_disk(&path), at(9, 3));
        file.look(&at(9, 5));
        assert_eq!(on_disk(&path), at(9, 5 + 2 * AHEAD));
    }

    #[test]
    fn what_came_is_there_at_the_end_and_at_the_next_start() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("runs.json");
        let text =
            r#"{"format":1,"runs":{"10":{"boot":7,"datagram":5},"11":{"boot":1,"datagram":2}}}"#;
        std::fs::write(&path, text).unwrap();
        let file = RunsFile::open(real(), &path).unwrap();
        let taken = SharedSnapshot::default();
        let (end, ended) = std::sync::mpsc::channel();
        drop(end);
        file.follow(&taken, &ended);
        // Nodes that sent nothing keep their runs.
        let kept = RunsFile::open(real(), &path).unwrap();
        assert_eq!(
            kept.runs()[&10],
            Run {
                boot: 7,
                datagram: 5
            }
        );
        drop(kept);
        for bad in ["", "{}", r#"{"format":2,"runs":{}}"#] {
            std::fs::write(&path, bad).unwrap();
            let e = format!("{:#}", RunsFile::open(real(), &path).err().unwrap());
            assert!(e.contains("runs.json: not what a collector writes"), "{e}");
        }
    }
}
