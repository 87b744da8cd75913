// SPDX-License-Identifier: Apache-2.0
//! A file of a table, opened row group by row group, with the columns of this format.

use crate::capture_file::CaptureFile;
use crate::error::CaptureError;
use crate::form::Form;
use crate::table::{Stored, schema};
use parquet::column::reader::ColumnReader;
use parquet::file::metadata::RowGroupMetaData;
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};
use std::path::{Path, PathBuf};

/// The columns of a table that are read.
pub(crate) struct Table {
    pub names: Vec<&'static str>,
    schema: SchemaDescriptor,
    /// Columns that older files lack.
    pub added: &'static [&'static str],
}

impl Table {
    /// All columns; `dir` is named where they cannot be described.
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
    /// Of the present row group, one for each column of the table, with its place and form
    /// in the file; none of a column that the file is older than.
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

    /// Opens the chunks of the next row group that is wanted; false after the last.
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
                return Err(self.wrong(name, "is none of this table"));
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
