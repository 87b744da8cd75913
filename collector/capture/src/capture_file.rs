// SPDX-License-Identifier: Apache-2.0
//! Reads a complete file of a capture and checks its checksums. Damage is an error that
//! says where it is, even if the Parquet library would panic.

use crate::error::CaptureError;
use crate::page_limits::check_footer;
use crate::pages::{ReadPages, said};
use crate::seal;
use crate::unpack::Codec;
use bytes::Bytes;
use parquet::basic::Compression;
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;
use std::cell::Cell;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::path::PathBuf;
use std::sync::{Arc, Once};

/// Size of the end of a file: the footer's length and the format's name.
const TAIL_BYTES: u64 = 8;
const NAME: &[u8] = b"PAR1";

/// An open file and its Parquet metadata.
pub(crate) struct CaptureFile {
    pub path: PathBuf,
    bytes: FileBytes,
    pub metadata: ParquetMetaData,
    /// Checksum of each column chunk, row group by row group; `None` if the file was
    /// written without checksums.
    checksums: Option<Vec<u32>>,
}

impl CaptureFile {
    pub(crate) fn open(path: PathBuf) -> std::result::Result<Self, CaptureError> {
        let open = || {
            let file = File::open(&path)?;
            let length = file.metadata()?.len();
            Ok(FileBytes { file, length })
        };
        let bytes = open().map_err(CaptureError::io(&path))?;
        match footer(&bytes) {
            Ok((metadata, checksums)) => Ok(Self {
                path,
                bytes,
                metadata,
                checksums,
            }),
            Err(e) => Err(CaptureError::Damaged {
                path,
                place: "footer".to_owned(),
                what: said(e),
            }),
        }
    }

    pub(crate) fn has_checksums(&self) -> bool {
        self.checksums.is_some()
    }

    pub(crate) fn rows_of_group(&self, group: usize) -> usize {
        let group = self.metadata.row_groups().get(group);
        group.map_or(0, |g| usize::try_from(g.num_rows()).unwrap_or(0))
    }

    /// Opens a column chunk after reading and checking all its bytes.
    pub(crate) fn column(
        &self,
        group: usize,
        column: usize,
    ) -> std::result::Result<ColumnReader, CaptureError> {
        self.read(group, column, || {
            let chunk = self.chunk(group, column)?;
            let (start, length) = chunk.byte_range();
            let bytes = self.bytes.range(start, length)?;
            let stored = match Codec::of(chunk.compression()) {
                // Makes the library return the pages still compressed.
                Some(_) => {
                    let builder = chunk.clone().into_builder();
                    &builder.set_compression(Compression::UNCOMPRESSED).build()?
                }
                None => chunk,
            };
            let pages = || {
                let rows = self.rows_of_group(group);
                let of_chunk = ChunkBytes {
                    start,
                    bytes: bytes.clone(),
                };
                let pages = SerializedPageReader::new(Arc::new(of_chunk), stored, rows, None)?;
                Ok::<_, ParquetError>(ReadPages::new(pages, bytes.clone(), rows, chunk))
            };
            if let Some(checksums) = &self.checksums {
                let columns = self.metadata.file_metadata().schema_descr().num_columns();
                let expected = checksums.get(group * columns + column);
                if expected != Some(&crc32fast::hash(&bytes)) {
                    // Prefer the error of the damaged page; there is none if a header is damaged.
                    pages()?.try_for_each(|page| page.map(drop))?;
                    let what = "the checksum over its pages and their headers is wrong";
                    return Err(ParquetError::General(what.into()));
                }
            }
            let descr = chunk.column_descr_ptr();
            Ok(get_column_reader(descr, Box::new(pages()?)))
        })
    }

    /// Runs `read`; its errors and panics become errors that name the column chunk.
    pub(crate) fn read<T>(
        &self,
        group: usize,
        column: usize,
        read: impl FnOnce() -> Result<T>,
    ) -> std::result::Result<T, CaptureError> {
        guarded(read).map_err(|e| {
            let name = self.chunk(group, column).map(|c| c.column_path().string());
            let name = name.unwrap_or_default();
            CaptureError::Damaged {
                path: self.path.clone(),
                place: format!("row group {group}, column {name}"),
                what: said(e),
            }
        })
    }

    fn chunk(&self, group: usize, column: usize) -> Result<&ColumnChunkMetaData> {
        let group = self.metadata.row_groups().get(group);
        let chunk = group.and_then(|g| g.columns().get(column));
        chunk.ok_or_else(|| ParquetError::General("it is not there".into()))
    }
}

/// Reads the metadata in the footer and the checksums before it.
fn footer(file: &FileBytes) -> Result<(ParquetMetaData, Option<Vec<u32>>)> {
    let cut_off = || ParquetError::EOF("the file was cut off, or is not a Parquet file".into());
    let tail_at = file.length.checked_sub(TAIL_BYTES).ok_or_else(cut_off)?;
    let tail = file.range(tail_at, TAIL_BYTES)?;
    let (length, name) = tail.split_at(4);
    if name != NAME {
        return Err(cut_off());
    }
    let length = u64::from(seal::from_le(length));
    let footer_at = tail_at.checked_sub(length).ok_or_else(cut_off)?;
    let footer = file.range(footer_at, length + TAIL_BYTES)?;
    let checksums = seal::checksums(&footer, footer_at, |at, n| file.range(at, n))?;
    let description = footer.slice(..length as usize);
    check_footer(&description)?;
    let metadata = guarded(|| ParquetMetaDataReader::decode_metadata(&description))?;
    check_rows(&metadata)?;
    Ok((metadata, checksums))
}

/// Checks that the row counts of the file, its row groups and their columns agree.
fn check_rows(metadata: &ParquetMetaData) -> Result<()> {
    let mut rows = 0i64;
    for group in metadata.row_groups() {
        let of_group = group.num_rows();
        let is_list = |c: &&ColumnChunkMetaData| c.column_descr().max_rep_level() > 0;
        let of_columns = group.columns().iter().filter(|c| !is_list(c));
        if of_group < 0 || of_columns.map(|c| c.num_values()).any(|n| n != of_group) {
            return Err(ParquetError::General(
                "its columns differ in their number of rows".into(),
            ));
        }
        rows = rows.saturating_add(of_group);
    }
    if rows != metadata.file_metadata().num_rows() {
        return Err(ParquetError::General(
            "its row groups do not add up to its rows".into(),
        ));
    }
    Ok(())
}

/// Turns a panic of the library, which some invalid input causes, into an error, and
/// keeps the panic message from being printed.
fn guarded<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_GUARDED.get() {
                before(panic);
            }
        }));
    });
    let outer = IS_GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(read));
    IS_GUARDED.set(outer);
    result.unwrap_or_else(|_| Err(ParquetError::General("it cannot be decoded".into())))
}

thread_local! {
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

struct FileBytes {
    file: File,
    length: u64,
}

impl FileBytes {
    fn range(&self, from: u64, length: u64) -> Result<Bytes> {
        if from.checked_add(length).is_none_or(|end| end > self.length) {
            let what = "it would extend beyond the end of the file";
            return Err(ParquetError::EOF(what.into()));
        }
        let mut bytes = vec![0; length as usize];
        self.file.read_exact_at(&mut bytes, from)?;
        Ok(bytes.into())
    }
}

/// A column chunk in memory, addressed by offsets in the file.
struct ChunkBytes {
    start: u64,
    bytes: Bytes,
}

impl Length for ChunkBytes {
    fn len(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

impl ChunkReader for ChunkBytes {
    type T = <Bytes as ChunkReader>::T;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        self.bytes.get_read(start.saturating_sub(self.start))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.bytes
            .get_bytes(start.saturating_sub(self.start), length)
    }
}
