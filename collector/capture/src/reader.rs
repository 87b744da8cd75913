// SPDX-License-Identifier: Apache-2.0
//! Reads the rows of a capture, table by table or merged in their order.

use crate::error::CaptureError;
use crate::table::{Stored, from_batch};
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use std::collections::VecDeque;
use std::fs::File;
use std::path::{Path, PathBuf};
use tidemark_rows::{EventRow, FlatEvent, NamedProbe, PostcardRow};

/// The completed files of a table, in order.
///
/// # Errors
/// When the directory cannot be read.
pub fn files(dir: &Path, table: &str) -> Result<Vec<PathBuf>, CaptureError> {
    let prefix = format!("{table}-");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(CaptureError::io(dir))? {
        let path = entry.map_err(CaptureError::io(dir))?.path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
        let number = name
            .strip_prefix(&prefix)
            .and_then(|n| n.strip_suffix(".parquet"))
            .and_then(|n| n.parse::<u64>().ok());
        if let Some(number) = number {
            found.push((number, path));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// All rows of a table.
pub struct Rows<R> {
    files: std::vec::IntoIter<PathBuf>,
    reader: Option<(PathBuf, ParquetRecordBatchReader)>,
    rows: VecDeque<R>,
}

impl<R: Stored> Rows<R> {
    /// # Errors
    /// When the directory cannot be read.
    pub fn open(dir: &Path) -> Result<Self, CaptureError> {
        Ok(Self {
            files: files(dir, R::TABLE)?.into_iter(),
            reader: None,
            rows: VecDeque::new(),
        })
    }

    /// The next row without taking it.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn peek(&mut self) -> Result<Option<&R>, CaptureError> {
        while self.rows.is_empty() {
            if let Some((path, reader)) = &mut self.reader {
                match reader.next() {
                    Some(batch) => {
                        let batch = batch.map_err(|e| CaptureError::Parquet {
                            path: path.clone(),
                            source: parquet::errors::ParquetError::ArrowError(e.to_string()),
                        })?;
                        self.rows = from_batch::<R>(&batch)?.into();
                        continue;
                    }
                    None => self.reader = None,
                }
            }
            let Some(path) = self.files.next() else {
                return Ok(None);
            };
            let file = File::open(&path).map_err(CaptureError::io(&path))?;
            let reader = ParquetRecordBatchReaderBuilder::try_new(file)
                .and_then(|b| b.with_batch_size(8192).build())
                .map_err(CaptureError::parquet(&path))?;
            self.reader = Some((path, reader));
        }
        Ok(self.rows.front())
    }

    /// Takes the next row.
    pub fn take(&mut self) -> Option<R> {
        self.rows.pop_front()
    }
}

/// A row of any table.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyRow {
    Postcard(Box<PostcardRow>),
    Probe(Box<NamedProbe>),
    Event(Box<EventRow>),
}

/// The rows of all tables in the order in which the pipeline gave them.
pub struct Merged {
    postcards: Rows<PostcardRow>,
    probes: Rows<NamedProbe>,
    events: Rows<FlatEvent>,
}

impl Merged {
    /// # Errors
    /// When the directory cannot be read.
    pub fn open(dir: &Path) -> Result<Self, CaptureError> {
        Ok(Self {
            postcards: Rows::open(dir)?,
            probes: Rows::open(dir)?,
            events: Rows::open(dir)?,
        })
    }

    /// The next row; `None` at the end.
    ///
    /// # Errors
    /// When a file cannot be read or holds what this format does not know.
    pub fn next_row(&mut self) -> Result<Option<AnyRow>, CaptureError> {
        let order = |row: Option<u64>| row.unwrap_or(u64::MAX);
        let p = order(self.postcards.peek()?.map(Stored::order));
        let t = order(self.probes.peek()?.map(Stored::order));
        let e = order(self.events.peek()?.map(Stored::order));
        let least = p.min(t).min(e);
        if p == least
            && let Some(row) = self.postcards.take()
        {
            return Ok(Some(AnyRow::Postcard(Box::new(row))));
        }
        if t == least
            && let Some(row) = self.probes.take()
        {
            return Ok(Some(AnyRow::Probe(Box::new(row))));
        }
        let Some(row) = self.events.take() else {
            return Ok(None);
        };
        let event = row.event().ok_or(CaptureError::Event(row.order))?;
        Ok(Some(AnyRow::Event(Box::new(event))))
    }
}
