// SPDX-License-Identifier: Apache-2.0
//! How much of the audit log the server has: a small file beside it.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Position in one file, known by its inode: another file of the same name is
/// read from its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Position {
    pub inode: u64,
    pub bytes: u64,
}

/// The file `<audit log>.stored`.
#[derive(Debug)]
pub(super) struct ProgressFile(PathBuf);

impl ProgressFile {
    pub(super) fn beside(log: &Path) -> Self {
        let mut name = log.as_os_str().to_owned();
        name.push(".stored");
        Self(name.into())
    }

    /// The position stored last; the beginning where the file makes no sense.
    /// Records may then be sent again; the table keeps one row of each.
    pub(super) fn load(&self) -> Position {
        let text = std::fs::read_to_string(&self.0).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// # Errors
    /// A directory that cannot be written to.
    pub(super) fn save(&self, position: Position) -> std::io::Result<()> {
        tidemark_disk::replace_private(
            &*tidemark_disk::real(),
            &self.0,
            serde_json::to_string(&position)?.as_bytes(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_kept_and_nonsense_is_the_beginning() {
        let dir = tempfile::tempdir().unwrap();
        let file = ProgressFile::beside(&dir.path().join("audit.jsonl"));
        assert_eq!(file.load(), Position::default());
        let at = Position {
            inode: 7,
            bytes: 90,
        };
        file.save(at).unwrap();
        assert_eq!(file.load(), at);
        std::fs::write(dir.path().join("audit.jsonl.stored"), "{").unwrap();
        assert_eq!(file.load(), Position::default());
    }
}
