// SPDX-License-Identifier: Apache-2.0
//! Opens a table's file row group by row group, with this format's columns.

use crate::capture_file::CaptureFile;
use crate::error::CaptureError;
use crate::form::Form;
use crate::table::{Stored, schema};
use parquet::column::reader::ColumnReader;
use parquet::file::metadata::RowGroupMetaData;
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};
use std::path::{Path, PathBuf};

/// The columns to read of a table.
pub(crate) struct Table {
    pub names: Vec<&'static str>,
    schema: SchemaDescriptor,
    /// Columns that older files lack.
    pub added: &'static [&'static str],
}

impl Table {
    /// Describes all columns; `dir` is named in the error if they cannot be described.
    pub(crate) fn of<R: Stored>(dir: &Path) -> Result<Self, CaptureError> {
        Ok(Self {
            names: R::columns().iter().map(|c| c.name).collect(),
            schema: schema::<R>().map_err(CaptureError::parquet(dir))?,
            added: R::ADDED,
        })
    }

    pub(crate) fn expected(&self, name: &str) -> Option<&ColumnDescriptor> {
        let mut all = self.schema.columns().iter();
        all.find(|e| e.name() == name).map(|e| &**e)
    }
}

/// A file, read row group by row group.
pub(crate) struct Open {
    pub file: CaptureFile,
    next_group: usize,
    /// Chunks of the present row group, one per column of the table, with the column's place
    /// and form in the file; `None` if the file is older than the column.
    pub chunks: Vec<Option<(usize, Form, ColumnReader)>>,
    pub rows_left: usize,
}

impl Open {
    pub(crate) fn new(path: PathBuf) -> Result<Self, CaptureError> {
        Ok(Self {
            file: CaptureFile::open(path)?,
            next_group: 0,
            chunks: Vec::new(),
            rows_left: 0,
        })
    }

    /// Number of the present row group.
    pub(crate) fn group(&self) -> usize {
        self.next_group.saturating_sub(1)
    }

    fn wrong(&self, column: &'static str, what: impl Into<String>) -> CaptureError {
        CaptureError::Column {
            path: self.file.path.clone(),
            column,
            what: what.into(),
        }
    }

    /// Opens the chunks of the next wanted row group; returns false after the last.
    pub(crate) fn next_group(
        &mut self,
        table: &Table,
        mut wanted: impl FnMut(&RowGroupMetaData) -> bool,
    ) -> Result<bool, CaptureError> {
        let metadata = &self.file.metadata;
        let groups = metadata.row_groups();
        while groups.get(self.next_group).is_some_and(|g| !wanted(g)) {
            self.next_group += 1;
        }
        if self.next_group >= groups.len() {
            return Ok(false);
        }
        let there = metadata.file_metadata().schema_descr();
        let mut chunks = Vec::with_capacity(table.names.len());
        for &name in &table.names {
            let Some(expected) = table.expected(name) else {
                return Err(self.wrong(name, "is not a column of this table"));
            };
            let place = there
                .columns()
                .iter()
                .position(|c| c.path() == expected.path());
            let Some(place) = place else {
                if table.added.contains(&name) {
                    chunks.push(None);
                    continue;
                }
                return Err(self.wrong(name, "is missing"));
            };
            let form = Form::of(&there.column(place), expected);
            let form = form.map_err(|what| self.wrong(name, what))?;
            let chunk = self.file.column(self.next_group, place)?;
            chunks.push(Some((place, form, chunk)));
        }
        self.rows_left = self.file.rows_of_group(self.next_group);
        self.chunks = chunks;
        self.next_group += 1;
        Ok(true)
    }
}
