// SPDX-License-Identifier: Apache-2.0
//! Checksums of the parts that the pages' own checksums do not cover: the page headers, by a
//! checksum of each column chunk, and the footer. They are stored little-endian before the
//! footer, which other readers ignore:
//!
//! ```text
//! CRC-32 of each column chunk, row group by row group   4 bytes each
//! their number                                          4
//! CRC-32 of all above, the footer and what follows it   4
//! "CHECKSUM"                                            8
//! ```

use bytes::Bytes;
use crc32fast::Hasher;
use durable_fs::DiskFile;
use parquet::errors::ParquetError;
use std::io::{Result, Write};

const NAME: &[u8; 8] = b"CHECKSUM";
/// Size of the seal's fixed part: the number, the checksum and the name.
const SEAL_BYTES: u64 = 16;

/// A file being written, which gets its checksums at the end.
pub(crate) struct Sealed {
    file: Box<dyn DiskFile>,
    /// The footer, kept until its checksum is known.
    footer: Option<Vec<u8>>,
}

impl Sealed {
    pub(crate) fn new(file: Box<dyn DiskFile>) -> Self {
        Self { file, footer: None }
    }

    /// Marks that all further writes belong to the footer.
    pub(crate) fn begin_footer(&mut self) {
        self.footer = Some(Vec::new());
    }

    /// Writes the column chunks' checksums and the footer, and syncs the file.
    pub(crate) fn finish(&mut self, chunks: &[u32]) -> Result<()> {
        let footer = self.footer.take().unwrap_or_default();
        let number = chunks.len() as u32;
        let all = chunks.iter().chain([&number]);
        let mut end: Vec<u8> = all.flat_map(|n| n.to_le_bytes()).collect();
        let crc = crc(&end, &footer);
        end.extend(crc.to_le_bytes());
        end.extend(NAME);
        end.extend(footer);
        self.file.write_all(&end)?;
        self.file.sync()
    }
}

impl Write for Sealed {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        match &mut self.footer {
            Some(footer) => footer.write(bytes),
            None => self.file.write(bytes),
        }
    }

    fn flush(&mut self) -> Result<()> {
        self.file.flush()
    }
}

fn crc(numbers: &[u8], footer: &[u8]) -> u32 {
    let mut hasher = Hasher::new();
    hasher.update(numbers);
    hasher.update(footer);
    hasher.finalize()
}

/// Reads the checksums of a file's column chunks from before its footer; `None` if the
/// file was written without checksums. `range` reads from an offset, by length.
///
/// # Errors
/// The footer or the checksums are damaged.
pub(crate) fn checksums(
    footer: &[u8],
    footer_at: u64,
    range: impl Fn(u64, u64) -> parquet::errors::Result<Bytes>,
) -> parquet::errors::Result<Option<Vec<u32>>> {
    let Some(seal_at) = footer_at.checked_sub(SEAL_BYTES) else {
        return Ok(None);
    };
    let seal = range(seal_at, SEAL_BYTES)?;
    let (numbers, name) = seal.split_at(8);
    if name != NAME {
        return Ok(None);
    }
    let (number, expected) = numbers.split_at(4);
    let length = 4 * u64::from(from_le(number));
    let wrong = || ParquetError::General("its checksum is wrong".into());
    let chunks_at = seal_at.checked_sub(length).ok_or_else(wrong)?;
    let chunks = range(chunks_at, length + 4)?;
    if crc(&chunks, footer) != from_le(expected) {
        return Err(wrong());
    }
    let chunks = chunks.chunks_exact(4).take((length / 4) as usize);
    Ok(Some(chunks.map(from_le).collect()))
}

pub(crate) fn from_le(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |n, &b| n << 8 | u32::from(b))
}
