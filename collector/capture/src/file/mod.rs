// SPDX-License-Identifier: Apache-2.0
//! Writes one table's Parquet files, one after another.
//!
//! The open file has the suffix `.open` and gets its final name when it is complete
//! and on disk: a file with a final name is never half written.

use crate::chunk::Chunk;
use crate::error::CaptureError;
use crate::page_compressor::PageCompressor;
use crate::seal::Sealed;
use crate::table::{Column, Stored, schema};
use durable_fs::SharedDisk;
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::SchemaDescriptor;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Suffix of a file that is being written.
pub(crate) const OPEN: &str = ".open";
/// Rows per block: columns are collected block by block, and a block stays in the
/// core's L1 cache.
const BLOCK_ROWS: usize = 128;
/// Rows per page.
const PAGE_ROWS: usize = 8192;
/// Rows per row group.
const GROUP_ROWS: usize = 1 << 20;

/// Writes the files of table `R`.
pub(crate) struct TableWriter<R> {
    disk: SharedDisk,
    dir: PathBuf,
    columns: Vec<Column<R>>,
    schema: SchemaDescriptor,
    properties: Arc<WriterProperties>,
    compressor: PageCompressor,
    chunks: Vec<Chunk>,
    page_rows: usize,
    group_rows: usize,
    next: u32,
    open: Option<Open>,
    /// Files with a final name whose rows count as lost, because they could not be removed.
    condemned: Vec<PathBuf>,
}

struct Open {
    writer: SerializedFileWriter<Sealed>,
    /// Checksum of each column chunk.
    checksums: Vec<u32>,
    rows: usize,
    temporary: PathBuf,
    path: PathBuf,
    /// Whether the file has its final name, which may not be on the disk yet.
    named: bool,
}

impl<R: Stored> TableWriter<R> {
    pub(crate) fn new(disk: SharedDisk, dir: &Path, zstd_level: i32) -> Result<Self, CaptureError> {
        Self::prepare(disk, dir, zstd_level).map_err(CaptureError::parquet(dir))
    }

    fn prepare(disk: SharedDisk, dir: &Path, zstd_level: i32) -> Result<Self, ParquetError> {
        let schema = schema::<R>()?;
        let properties = WriterProperties::builder()
            .set_writer_version(WriterVersion::PARQUET_2_0)
            .set_created_by(format!("tidemark {}", env!("CARGO_PKG_VERSION")))
            .build();
        let columns = R::columns();
        let chunks = chunks(&columns, &schema);
        Ok(Self {
            disk,
            dir: dir.to_path_buf(),
            columns,
            schema,
            properties: Arc::new(properties),
            compressor: PageCompressor::new(zstd_level)?,
            chunks,
            page_rows: 0,
            group_rows: 0,
            next: 0,
            open: None,
            condemned: Vec::new(),
        })
    }

    pub(crate) fn open_rows(&self) -> usize {
        self.open.as_ref().map_or(0, |o| o.rows)
    }

    pub(crate) fn write(&mut self, rows: &[R]) -> Result<(), CaptureError> {
        if self.open.is_none() {
            self.open = Some(self.start()?);
        }
        for block in rows.chunks(BLOCK_ROWS) {
            for (column, chunk) in self.columns.iter().zip(&mut self.chunks) {
                (column.gather)(block, &mut chunk.values);
            }
            self.page_rows += block.len();
            if self.page_rows >= PAGE_ROWS {
                self.end_page()?;
            }
        }
        if let Some(open) = &mut self.open {
            open.rows += rows.len();
        }
        Ok(())
    }

    fn start(&mut self) -> Result<Open, CaptureError> {
        let name = format!("{}-{:04}.parquet", R::TABLE, self.next);
        let path = self.dir.join(&name);
        let temporary = self.dir.join(format!("{name}{OPEN}"));
        let file = self
            .disk
            .create(&temporary)
            .map_err(CaptureError::io(&temporary))?;
        let schema = self.schema.root_schema_ptr();
        let writer = SerializedFileWriter::new(Sealed::new(file), schema, self.properties.clone())
            .map_err(CaptureError::parquet(&temporary))?;
        self.next += 1;
        Ok(Open {
            writer,
            checksums: Vec::new(),
            rows: 0,
            temporary,
            path,
            named: false,
        })
    }

    fn end_page(&mut self) -> Result<(), CaptureError> {
        for chunk in &mut self.chunks {
            chunk
                .end_page(&mut self.compressor)
                .map_err(CaptureError::parquet(&self.dir))?;
        }
        self.group_rows += std::mem::take(&mut self.page_rows);
        if self.group_rows >= GROUP_ROWS || self.chunks.iter().any(Chunk::is_full) {
            self.end_group()?;
        }
        Ok(())
    }

    fn end_group(&mut self) -> Result<(), CaptureError> {
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        let (chunks, compressor) = (&mut self.chunks, &mut self.compressor);
        let write = || {
            let mut group = open.writer.next_row_group()?;
            for chunk in chunks {
                let (bytes, close) = chunk.finish(compressor)?;
                open.checksums.push(crc32fast::hash(&bytes));
                group.append_column(&bytes, close)?;
            }
            group.close()
        };
        write().map_err(CaptureError::parquet(&open.temporary))?;
        (self.page_rows, self.group_rows) = (0, 0);
        Ok(())
    }

    /// Completes the open file and gives it its final name. Only then do its rows count
    /// as written; returns their number.
    ///
    /// On an error, call [`TableWriter::abandon`].
    pub(crate) fn close(&mut self) -> Result<usize, CaptureError> {
        if self.page_rows + self.group_rows > 0 {
            self.end_group()?;
        }
        let Some(open) = &mut self.open else {
            return Ok(0);
        };
        let footer = |writer: &mut SerializedFileWriter<Sealed>| {
            writer.flush()?;
            writer.inner_mut().begin_footer();
            writer.finish()
        };
        footer(&mut open.writer).map_err(CaptureError::parquet(&open.temporary))?;
        let file = open.writer.inner_mut();
        file.finish(&open.checksums)
            .map_err(CaptureError::io(&open.temporary))?;
        self.disk
            .rename(&open.temporary, &open.path)
            .map_err(CaptureError::io(&open.path))?;
        open.named = true;
        self.disk
            .sync_directory(&self.dir)
            .map_err(CaptureError::io(&self.dir))?;
        Ok(self.open.take().map_or(0, |open| open.rows))
    }

    /// Gives up the open file and its rows; returns their number. The next rows
    /// begin a new file.
    pub(crate) fn abandon(&mut self) -> usize {
        self.chunks = chunks(&self.columns, &self.schema);
        (self.page_rows, self.group_rows) = (0, 0);
        let Some(open) = self.open.take() else {
            return 0;
        };
        // The rows count as lost even if the file cannot be removed.
        if open.named {
            self.condemned.push(open.path);
            let _ = self.remove_condemned();
        } else {
            // Readers ignore a file with this name.
            let _ = self.disk.remove(&open.temporary);
        }
        open.rows
    }
}

impl<R> TableWriter<R> {
    /// Removes files that could not be removed when they were given up, because a reader of the
    /// capture would find rows that count as lost.
    ///
    /// # Errors
    /// A file still cannot be removed; the next call tries again.
    pub(crate) fn remove_condemned(&mut self) -> Result<(), CaptureError> {
        let mut result = Ok(());
        let disk = &self.disk;
        self.condemned.retain(|path| match disk.remove(path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                result = Err(CaptureError::io(path)(e));
                true
            }
            _ => false,
        });
        result
    }
}

/// Empty chunks, one for each column.
fn chunks<R>(columns: &[Column<R>], schema: &SchemaDescriptor) -> Vec<Chunk> {
    columns
        .iter()
        .zip(schema.columns())
        .map(|(c, descr)| Chunk::new(descr.clone(), c.layout, c.nullable))
        .collect()
}

#[cfg(test)]
mod tests;
