// SPDX-License-Identifier: Apache-2.0
//! One table's Parquet files, one after the other.
//!
//! The open file has the suffix `.open` and gets its name when it is complete
//! and on disk: a file with a proper name is never half written.

use crate::error::CaptureError;
use crate::table::{Layout, Stored, schema, to_batch};
use arrow::datatypes::Schema;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;
use std::fs::File;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Writes the files of table `R`.
pub struct TableWriter<R> {
    dir: PathBuf,
    schema: Arc<Schema>,
    properties: WriterProperties,
    next: u32,
    open: Option<Open>,
    rows: PhantomData<R>,
}

struct Open {
    writer: ArrowWriter<File>,
    rows: usize,
    temporary: PathBuf,
    path: PathBuf,
}

fn properties<R: Stored>(zstd_level: i32) -> Result<WriterProperties, CaptureError> {
    let level = ZstdLevel::try_new(zstd_level).map_err(CaptureError::parquet("zstd level"))?;
    let mut builder = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_compression(Compression::ZSTD(level))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_created_by(format!("tidemark {}", env!("CARGO_PKG_VERSION")));
    for column in R::columns() {
        let path = ColumnPath::from(column.name);
        builder = match column.layout {
            Layout::Dictionary => builder.set_column_dictionary_enabled(path, true),
            Layout::Delta => builder
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
            Layout::Plain => builder.set_column_dictionary_enabled(path, false),
        };
    }
    Ok(builder.build())
}

impl<R: Stored> TableWriter<R> {
    pub fn new(dir: &Path, zstd_level: i32) -> Result<Self, CaptureError> {
        Ok(Self {
            dir: dir.to_path_buf(),
            schema: schema::<R>(),
            properties: properties::<R>(zstd_level)?,
            next: 0,
            open: None,
            rows: PhantomData,
        })
    }

    /// Rows in the open file.
    pub fn open_rows(&self) -> usize {
        self.open.as_ref().map_or(0, |o| o.rows)
    }

    pub fn write(&mut self, rows: &[R]) -> Result<(), CaptureError> {
        let batch = to_batch(rows, &self.schema)?;
        let open = match &mut self.open {
            Some(open) => open,
            none => {
                let name = format!("{}-{:04}.parquet", R::TABLE, self.next);
                let path = self.dir.join(&name);
                let temporary = self.dir.join(format!("{name}.open"));
                let file = File::create(&temporary).map_err(CaptureError::io(&temporary))?;
                let writer =
                    ArrowWriter::try_new(file, self.schema.clone(), Some(self.properties.clone()))
                        .map_err(CaptureError::parquet(&temporary))?;
                self.next += 1;
                none.insert(Open {
                    writer,
                    rows: 0,
                    temporary,
                    path,
                })
            }
        };
        open.rows += rows.len();
        open.writer
            .write(&batch)
            .map_err(CaptureError::parquet(&open.temporary))
    }

    /// Completes the open file and gives it its name.
    pub fn close(&mut self) -> Result<(), CaptureError> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let file = open
            .writer
            .into_inner()
            .map_err(CaptureError::parquet(&open.temporary))?;
        file.sync_data()
            .map_err(CaptureError::io(&open.temporary))?;
        std::fs::rename(&open.temporary, &open.path).map_err(CaptureError::io(&open.path))
    }
}
