// SPDX-License-Identifier: Apache-2.0
//! Writes pages with a checksum, which the library checks on reading but cannot write yet,
//! and reads pages with errors that say which page.

use crate::encode::zigzag;
use crate::page_limits::{PageHeader, check_values};
use crate::unpack::Codec;
use bytes::Bytes;
use parquet::column::page::{CompressedPage, Page, PageMetadata, PageReader, PageWriter as _};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};

/// Header of a 32-bit field whose number is one above the last, in Thrift's compact protocol.
const NEXT_I32: u8 = 0x15;
/// One step in a field number, which counts from the last field in the upper half of its byte.
const ONE_FIELD: u8 = 0x10;

/// Appends a page with its checksum; returns its uncompressed and compressed size.
pub(crate) fn append(page: CompressedPage, to: &mut Vec<u8>) -> Result<(usize, usize)> {
    let crc = crc32fast::hash(page.data());
    let data_bytes = page.compressed_size();
    let uncompressed = page.uncompressed_size();
    let mut out = TrackedWrite::new(Vec::with_capacity(data_bytes + 64));
    SerializedPageWriter::new(&mut out).write_page(page)?;
    let page = out.into_inner()?;
    let (header, data) = page.split_at(page.len() - data_bytes);
    let start = to.len();
    append_header(header, crc, to)?;
    let header_bytes = to.len() - start;
    to.extend_from_slice(data);
    Ok((uncompressed + header_bytes, data_bytes + header_bytes))
}

/// Appends a page header, inserting field 4, the CRC, after the first three numbers: the
/// type and both sizes.
fn append_header(header: &[u8], crc: u32, out: &mut Vec<u8>) -> Result<()> {
    let mut place = 0;
    for _ in 0..3 {
        let number = header.iter().skip(place + 1);
        place += 2 + number.take_while(|&b| b & 0x80 != 0).count();
    }
    let (Some(before), Some((next, after))) = (
        header.get(..place),
        header.get(place..).and_then(<[u8]>::split_first),
    ) else {
        return Err(ParquetError::General("a page header is too short".into()));
    };
    out.extend_from_slice(before);
    out.push(NEXT_I32);
    zigzag(i64::from(crc as i32), out);
    out.push(next - ONE_FIELD);
    out.extend_from_slice(after);
    Ok(())
}

/// Reader of a column chunk's pages. Errors name the page, counted from 0; the first is
/// the dictionary page, if there is one.
pub(crate) struct ReadPages<P> {
    pages: P,
    /// Bytes of the chunk from the next page on.
    bytes: Bytes,
    /// Number of rows of the row group.
    rows: usize,
    /// Whether the column is nullable.
    nullable: bool,
    /// Codec of pages that `pages` returns still compressed.
    codec: Option<Codec>,
    read: usize,
}

impl<P: PageReader> ReadPages<P> {
    /// Wraps `pages`, whose headers are in `bytes`, of a row group with `rows` rows.
    pub(crate) fn new(pages: P, bytes: Bytes, rows: usize, column: &ColumnChunkMetaData) -> Self {
        Self {
            pages,
            bytes,
            rows,
            nullable: column.column_descr().max_def_level() > 0,
            codec: Codec::of(column.compression()),
            read: 0,
        }
    }

    /// Returns the header and end of the next page that has values, without reading the page.
    fn header(&self) -> Result<Option<(PageHeader, usize)>> {
        let mut start = 0;
        loop {
            let rest = self.bytes.get(start..).unwrap_or_default();
            if rest.is_empty() {
                return Ok(None);
            }
            let header = PageHeader::read(rest)?;
            let end = start.saturating_add(header.bytes).min(self.bytes.len());
            if !header.is_index {
                return Ok(Some((header, end)));
            }
            start = end;
        }
    }

    fn next_page(&mut self) -> Result<Option<Page>> {
        let header = self.header()?;
        let page = self.pages.get_next_page()?;
        let (Some((header, end)), Some(mut page)) = (header, page) else {
            return Ok(None);
        };
        self.bytes = self.bytes.slice(end..);
        if let Some(codec) = self.codec {
            page = codec.page(page, header.unpacked_bytes)?;
        }
        check_values(&page, self.rows, self.nullable)?;
        Ok(Some(page))
    }

    /// Counts a page, and adds its number to an error.
    fn counted<T>(&mut self, result: Result<T>) -> Result<T> {
        let number = self.read;
        self.read += 1;
        result.map_err(|e| ParquetError::General(format!("page {number}: {}", said(e))))
    }
}

impl<P: PageReader> Iterator for ReadPages<P> {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl<P: PageReader> PageReader for ReadPages<P> {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.next_page();
        self.counted(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.header()?;
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        let header = self.header();
        if let Some((_, end)) = self.counted(header)? {
            self.bytes = self.bytes.slice(end..);
        }
        self.pages.skip_next_page()
    }
}

/// Returns the text of a library error without the library's prefix.
pub(crate) fn said(error: ParquetError) -> String {
    match error {
        ParquetError::General(what) | ParquetError::EOF(what) => what,
        other => other.to_string(),
    }
}
