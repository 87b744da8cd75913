// SPDX-License-Identifier: Apache-2.0
//! The page compressor: zstd and the buffers in which pages are built.

use parquet::basic::ZstdLevel;
use parquet::errors::{ParquetError, Result};
use zstd::bulk::Compressor;

/// Compressor and buffers for pages, shared by all columns.
pub(crate) struct PageCompressor {
    zstd: Compressor<'static>,
    pub level: ZstdLevel,
    /// The encoded page, uncompressed.
    pub plain: Vec<u8>,
    /// The compressed page.
    pub packed: Vec<u8>,
    /// Values to be encoded as a hybrid of runs and packed groups.
    pub numbers: Vec<u32>,
}

impl PageCompressor {
    pub(crate) fn new(level: i32) -> Result<Self> {
        Ok(Self {
            zstd: Compressor::new(level).map_err(external)?,
            level: ZstdLevel::try_new(level)?,
            plain: Vec::new(),
            packed: Vec::new(),
            numbers: Vec::new(),
        })
    }

    /// Compresses `plain`, starting at offset `from`, into `packed`.
    pub(crate) fn compress(&mut self, from: usize) -> Result<()> {
        let body = self.plain.get(from..).unwrap_or_default();
        self.packed.clear();
        self.packed
            .reserve(zstd::zstd_safe::compress_bound(body.len()));
        self.zstd
            .compress_to_buffer(body, &mut self.packed)
            .map_err(external)?;
        Ok(())
    }
}

fn external(e: std::io::Error) -> ParquetError {
    ParquetError::External(Box::new(e))
}
