// SPDX-License-Identifier: Apache-2.0
//! State that survives a restart of the controller: mode, targets, the limits that it
//! set and those on trial, and its last advice. One small JSON file, replaced as a
//! whole.

mod restore;
mod saved;

pub(crate) use restore::{restore, snapshot};
pub(crate) use saved::{Chosen, Saved, SavedLink};

use anyhow::Context as _;
use durable_fs::{SharedDisk, replace_private};
use parking_lot::Mutex;
use std::path::{Path, PathBuf};

/// The file, and what was last written to it.
#[derive(Debug)]
pub(crate) struct StateFile {
    disk: SharedDisk,
    path: PathBuf,
    written: Mutex<Option<String>>,
    problem: Mutex<Option<String>>,
}

impl StateFile {
    /// Version of the file format.
    pub(crate) const VERSION: u32 = 1;

    /// Creates a state file at a path.
    pub(crate) fn new(path: &Path) -> Self {
        Self::on(durable_fs::real(), path)
    }

    /// Like [`Self::new`], on a given disk.
    pub(crate) fn on(disk: SharedDisk, path: &Path) -> Self {
        Self {
            disk,
            path: path.into(),
            written: Mutex::new(None),
            problem: Mutex::new(None),
        }
    }

    /// Reads the state that an earlier run left; empty if there is no file.
    pub(crate) fn load(&self) -> anyhow::Result<Saved> {
        let remedy = || {
            format!(
                "state_file: {}: remove it to start without what it holds",
                self.path.display()
            )
        };
        let text = match self.disk.read(&self.path) {
            Ok(t) => t,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Saved::default()),
            Err(e) => return Err(e).with_context(remedy),
        };
        let saved: Saved = serde_json::from_slice(&text).with_context(remedy)?;
        anyhow::ensure!(
            saved.version == Self::VERSION,
            "{}: version {} is not {}",
            remedy(),
            saved.version,
            Self::VERSION
        );
        Ok(saved)
    }

    /// Replaces the file by a new one, if the state has changed.
    pub(crate) fn store(&self, saved: &Saved) -> std::io::Result<()> {
        let stored = self.replace(saved);
        *self.problem.lock() = stored.as_ref().err().map(ToString::to_string);
        stored
    }

    /// Returns why the last write failed; `None` if it did not.
    pub(crate) fn problem(&self) -> Option<String> {
        self.problem.lock().clone()
    }

    fn replace(&self, saved: &Saved) -> std::io::Result<()> {
        let text = serde_json::to_string_pretty(saved)? + "\n";
        let mut written = self.written.lock();
        if written.as_ref() == Some(&text) {
            return Ok(());
        }
        replace_private(&*self.disk, &self.path, text.as_bytes())?;
        *written = Some(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Mode;

    #[test]
    fn a_file_that_cannot_be_written_is_told_until_it_can() {
        let dir = tempfile::tempdir().unwrap();
        let file = StateFile::new(&dir.path().join("missing/state.json"));
        assert!(file.store(&Saved::default()).is_err());
        assert!(file.problem().is_some());
        std::fs::create_dir(dir.path().join("missing")).unwrap();
        file.store(&Saved::default()).unwrap();
        assert_eq!(file.problem(), None);
    }

    #[test]
    fn a_file_is_replaced_and_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.json");
        let file = StateFile::new(&path);
        assert_eq!(file.load().unwrap(), Saved::default());
        let mut saved = Saved {
            version: StateFile::VERSION,
            mode: Some(Chosen {
                configured: Mode::Recommend,
                chosen: Mode::Auto,
            }),
            ..Saved::default()
        };
        file.store(&saved).unwrap();
        assert_eq!(StateFile::new(&path).load().unwrap(), saved);
        saved.mode = None;
        file.store(&saved).unwrap();
        assert_eq!(StateFile::new(&path).load().unwrap(), saved);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn nonsense_is_refused_with_the_remedy() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.json");
        for text in ["", "{", "{\"version\": 99}", "{\"version\": 1, \"foo\": 2}"] {
            std::fs::write(&path, text).unwrap();
            let e = format!("{:#}", StateFile::new(&path).load().unwrap_err());
            assert!(e.contains("state.json") && e.contains("remove it"), "{e}");
        }
    }
}
