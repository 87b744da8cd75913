// SPDX-License-Identifier: Apache-2.0
//! Checks how far damage to a capture's files would be noticed.

use crate::capture_file::CaptureFile;
use crate::columns::TABLES;
use crate::error::CaptureError;
use crate::file::OPEN;
use crate::reader::files;
use std::path::Path;

/// Numbers of a capture's files that cannot be checked or are not read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Integrity {
    /// Number of complete files of all tables.
    pub files: usize,
    /// Files without this format's checksums: older, or rewritten by another program.
    pub unchecked: usize,
    /// Files that a writer did not complete; their rows are not read.
    pub left_open: usize,
}

impl Integrity {
    /// Reads the end of each file of the capture in `dir`.
    ///
    /// # Errors
    /// A file or the directory cannot be read, or the end of a file is damaged.
    pub fn of(dir: &Path) -> Result<Self, CaptureError> {
        let mut found = Self::default();
        for table in TABLES {
            for path in files(dir, table)? {
                found.files += 1;
                found.unchecked += usize::from(!CaptureFile::open(path)?.has_checksums());
            }
        }
        for entry in std::fs::read_dir(dir).map_err(CaptureError::io(dir))? {
            let name = entry.map_err(CaptureError::io(dir))?.file_name();
            let name = name.to_string_lossy();
            let is_table = TABLES.iter().any(|t| name.starts_with(&format!("{t}-")));
            found.left_open += usize::from(is_table && name.ends_with(OPEN));
        }
        Ok(found)
    }

    /// Returns one sentence for each thing that a reader of the capture has to know.
    /// `is_closed`: the capture's writer ended, so no file can still be growing.
    pub fn notes(&self, is_closed: bool) -> Vec<String> {
        let mut notes = Vec::new();
        if self.unchecked > 0 {
            notes.push(format!(
                "not checked for damage: {} of the capture's {} files carry no checksums (written by an \
                 earlier version, or rewritten by another program)",
                self.unchecked, self.files
            ));
        }
        if is_closed && self.left_open > 0 {
            notes.push(format!(
                "{} files of the capture were never completed (*{OPEN}) and are not read; delete them",
                self.left_open
            ));
        }
        notes
    }
}
