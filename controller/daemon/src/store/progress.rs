// SPDX-License-Identifier: Apache-2.0
//! How much of the audit log the server has: a small file next to the log.

use durable_fs::SharedDisk;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Position in one file, identified by its inode: another file of the same name is read from its
/// beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Position {
    pub inode: u64,
    pub bytes: u64,
}

/// The file `<audit log>.stored`.
#[derive(Debug)]
pub(super) struct ProgressFile {
    disk: SharedDisk,
    path: PathBuf,
}

impl ProgressFile {
    pub(super) fn beside(log: &Path) -> Self {
        Self::on(durable_fs::real(), log)
    }

    /// The file next to a log, on a given disk.
    fn on(disk: SharedDisk, log: &Path) -> Self {
        let mut name = log.as_os_str().to_owned();
        name.push(".stored");
        Self {
            disk,
            path: name.into(),
        }
    }

    /// Returns the position stored last, or the beginning if there is no file or it is invalid.
    /// Records may then be sent again; the table keeps one row of each.
    ///
    /// # Errors
    /// The file cannot be read: reading is retried, and nothing is sent again.
    pub(super) fn load(&self) -> std::io::Result<Position> {
        match self.disk.read(&self.path) {
            Ok(text) => Ok(serde_json::from_slice(&text).unwrap_or_default()),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Position::default()),
            Err(e) => Err(e),
        }
    }

    pub(super) fn save(&self, position: Position) -> std::io::Result<()> {
        durable_fs::replace_private(
            &*self.disk,
            &self.path,
            serde_json::to_string(&position)?.as_bytes(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use test_support::disk::{Model, PowerCut, SimDisk, Store, seeds};

    /// Number of runs of each model.
    const SEEDS: u64 = 300;

    /// Positions that grow, as the server takes the log.
    #[derive(Default)]
    struct Stored {
        file: Option<ProgressFile>,
        tried_bytes: u64,
        saved_bytes: u64,
    }

    impl Store for Stored {
        fn start(&mut self, disk: &SimDisk) -> Result<(), String> {
            durable_fs::make_directories(disk, Path::new("/log")).map_err(|e| e.to_string())?;
            let disk = Arc::new(disk.clone());
            let file = ProgressFile::on(disk, Path::new("/log/audit.jsonl"));
            let at = file.load().map_err(|e| e.to_string())?.bytes;
            // Behind it, records are sent again for nothing; beyond it, some are never sent.
            assert!(
                (self.saved_bytes..=self.tried_bytes).contains(&at),
                "{at}: {} was saved",
                self.saved_bytes
            );
            self.file = Some(file);
            Ok(())
        }

        fn work(&mut self) {
            let Some(file) = &self.file else { return };
            self.tried_bytes += 1_000;
            let position = Position {
                inode: 7,
                bytes: self.tried_bytes,
            };
            if file.save(position).is_ok() {
                self.saved_bytes = self.tried_bytes;
            }
        }

        fn kill(&mut self) {
            self.file = None;
        }
    }

    #[test]
    fn no_saved_position_is_lost_with_the_power() {
        for model in Model::ALL {
            for seed in 0..seeds(SEEDS) {
                let mut stored = Stored::default();
                let played = PowerCut { model, seed }.play(&mut stored);
                played.unwrap_or_else(|e| panic!("{model:?}, seed {seed}: {e}"));
            }
        }
    }

    #[test]
    fn a_position_is_kept_and_nonsense_is_the_beginning() {
        let dir = tempfile::tempdir().unwrap();
        let file = ProgressFile::beside(&dir.path().join("audit.jsonl"));
        assert_eq!(file.load().unwrap(), Position::default());
        let at = Position {
            inode: 7,
            bytes: 90,
        };
        file.save(at).unwrap();
        assert_eq!(file.load().unwrap(), at);
        std::fs::write(dir.path().join("audit.jsonl.stored"), "{").unwrap();
        assert_eq!(file.load().unwrap(), Position::default());
    }
}
