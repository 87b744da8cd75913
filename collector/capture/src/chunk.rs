// SPDX-License-Identifier: Apache-2.0
//! Encodes one column of a row group: collects values, forms pages and joins them to a chunk.
//!
//! A column of constant values, as most columns of a capture are, costs a few
//! bytes per page and is not compressed.

use crate::dictionary::Numbers;
use crate::encode::{delta, hybrid, indexes, plain, repeated};
use crate::page_compressor::PageCompressor;
use crate::pages;
use crate::table::Layout;
use crate::values::Values;
use bytes::Bytes;
use parquet::basic::{Compression, Encoding, Type};
use parquet::column::page::{CompressedPage, Page};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::Result;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnDescPtr;

/// Most distinct values of a chunk for which a dictionary is used.
const MAX_DICTIONARY: usize = 1 << 16;
/// Smallest page body, in bytes, that is compressed.
const LEAST_COMPRESSED: usize = 64;
/// Number of pages stored uncompressed after a page that compression hardly made smaller.
const PAGES_UNCOMPRESSED: u32 = 7;

/// Bounds of no values.
const NO_BOUNDS: (u64, u64) = (u64::MAX, 0);

/// The column's values since the last page, and the pages written before.
pub(crate) struct Chunk {
    descr: ColumnDescPtr,
    layout: Layout,
    nullable: bool,
    pub values: Values,
    dictionary: Numbers,
    dictionary_given_up: bool,
    pages: Vec<u8>,
    encodings: Vec<Encoding>,
    rows: u64,
    nulls: u64,
    uncompressed: usize,
    compressed: usize,
    /// Mask that turns values into sortable keys and back: the sign bit, if they are signed.
    sign: u64,
    /// Smallest and largest key.
    bounds: (u64, u64),
    uncompressed_pages: u32,
}

impl Chunk {
    pub(crate) fn new(descr: ColumnDescPtr, layout: Layout, nullable: bool) -> Self {
        Self {
            sign: u64::from(descr.sort_order().is_signed()) << 63,
            descr,
            layout,
            nullable,
            values: Values::default(),
            dictionary: Numbers::default(),
            dictionary_given_up: false,
            pages: Vec::new(),
            encodings: Vec::new(),
            rows: 0,
            nulls: 0,
            uncompressed: 0,
            compressed: 0,
            bounds: NO_BOUNDS,
            uncompressed_pages: 0,
        }
    }

    /// Returns whether the dictionary of words is full; words have no other encoding.
    pub(crate) fn is_full(&self) -> bool {
        self.values.words.entries.len() > MAX_DICTIONARY
    }

    /// Writes the buffered values as one page.
    pub(crate) fn end_page(&mut self, compressor: &mut PageCompressor) -> Result<()> {
        let present = self.values.bits.len();
        let rows = if self.nullable {
            self.values.valid.len()
        } else {
            present
        };
        if rows == 0 {
            return Ok(());
        }
        compressor.plain.clear();
        if self.nullable && (present == 0 || present == rows) {
            repeated(u32::from(present > 0), rows, 1, &mut compressor.plain);
        } else if self.nullable {
            compressor.numbers.clear();
            let valid = self.values.valid.iter();
            compressor.numbers.extend(valid.map(|&v| u32::from(v)));
            hybrid(&compressor.numbers, 1, &mut compressor.plain);
        }
        let levels = compressor.plain.len();
        let encoding = self.encode(compressor);
        let body = compressor.plain.len() - levels;
        let mut is_compressed = false;
        if body >= LEAST_COMPRESSED {
            if self.uncompressed_pages == 0 {
                compressor.compress(levels)?;
                is_compressed = compressor.packed.len() < body;
                if compressor.packed.len() > body - body / 32 {
                    self.uncompressed_pages = PAGES_UNCOMPRESSED;
                }
            } else {
                self.uncompressed_pages -= 1;
            }
        }
        let uncompressed = compressor.plain.len();
        let mut buf = Vec::with_capacity(uncompressed);
        if is_compressed {
            buf.extend_from_slice(compressor.plain.get(..levels).unwrap_or_default());
            buf.extend_from_slice(&compressor.packed);
        } else {
            buf.extend_from_slice(&compressor.plain);
        }
        let page = Page::DataPageV2 {
            buf: buf.into(),
            num_values: rows as u32,
            encoding,
            num_nulls: (rows - present) as u32,
            num_rows: rows as u32,
            def_levels_byte_len: levels as u32,
            rep_levels_byte_len: 0,
            is_compressed,
            statistics: None,
        };
        let page = CompressedPage::new(page, uncompressed);
        let sizes = pages::append(page, &mut self.pages)?;
        self.count(sizes);
        self.rows += rows as u64;
        self.nulls += (rows - present) as u64;
        self.note_encoding(encoding);
        self.values.bits.clear();
        self.values.valid.clear();
        Ok(())
    }

    fn count(&mut self, (uncompressed, compressed): (usize, usize)) {
        self.uncompressed += uncompressed;
        self.compressed += compressed;
    }

    fn note_encoding(&mut self, encoding: Encoding) {
        if !self.encodings.contains(&encoding) {
            self.encodings.push(encoding);
        }
    }

    /// Appends the encoded values to the levels in `compressor.plain`.
    fn encode(&mut self, compressor: &mut PageCompressor) -> Encoding {
        let bits = &self.values.bits;
        let out = &mut compressor.plain;
        if bits.is_empty() {
            return Encoding::PLAIN;
        }
        let physical = self.descr.physical_type();
        if physical == Type::BOOLEAN {
            compressor.numbers.clear();
            compressor.numbers.extend(bits.iter().map(|&b| b as u32));
            let start = out.len();
            out.extend_from_slice(&[0; 4]);
            hybrid(&compressor.numbers, 1, out);
            let length = (out.len() - start - 4) as u32;
            if let Some(place) = out.get_mut(start..start + 4) {
                place.copy_from_slice(&length.to_le_bytes());
            }
            return Encoding::RLE;
        }
        compressor.numbers.clear();
        if physical == Type::BYTE_ARRAY {
            compressor.numbers.extend(bits.iter().map(|&b| b as u32));
            let entries = self.values.words.entries.len();
            return indexes(&compressor.numbers, entries, out);
        }
        let keys = bits.iter().map(|b| b ^ self.sign);
        let (least, most) = keys.fold(NO_BOUNDS, |(l, m), k| (l.min(k), m.max(k)));
        self.bounds = (self.bounds.0.min(least), self.bounds.1.max(most));
        if least == most {
            let i = self.dictionary.index(least ^ self.sign);
            compressor.numbers.resize(bits.len(), i);
        } else if self.layout == Layout::Dictionary && !self.dictionary_given_up {
            let before = self.dictionary.entries.len();
            compressor
                .numbers
                .extend(bits.iter().map(|&b| self.dictionary.index(b)));
            let entries = self.dictionary.entries.len();
            // Values hardly repeat: the dictionary would be as large as the page.
            self.dictionary_given_up =
                entries > MAX_DICTIONARY || (entries - before) * 2 > bits.len().max(1024);
        }
        if !compressor.numbers.is_empty() {
            let entries = self.dictionary.entries.len();
            return indexes(&compressor.numbers, entries, out);
        }
        let narrow = physical == Type::INT32;
        if self.layout == Layout::Plain || physical == Type::DOUBLE {
            plain(bits, narrow, out);
            return Encoding::PLAIN;
        }
        delta(bits, narrow, out);
        Encoding::DELTA_BINARY_PACKED
    }

    /// Ends the chunk and begins the next; returns its bytes and metadata.
    pub(crate) fn finish(
        &mut self,
        compressor: &mut PageCompressor,
    ) -> Result<(Bytes, ColumnCloseResult)> {
        self.end_page(compressor)?;
        let next = Self::new(self.descr.clone(), self.layout, self.nullable);
        let mut chunk = std::mem::replace(self, next);
        let mut out = Vec::new();
        chunk.dictionary_page(compressor, &mut out)?;
        let dictionary = out.len();
        out.append(&mut chunk.pages);
        let statistics = chunk.statistics();
        let mut metadata = ColumnChunkMetaData::builder(chunk.descr)
            .set_compression(Compression::ZSTD(compressor.level))
            .set_encodings(chunk.encodings)
            .set_total_compressed_size(chunk.compressed as i64)
            .set_total_uncompressed_size(chunk.uncompressed as i64)
            .set_num_values(chunk.rows as i64)
            .set_data_page_offset(dictionary as i64)
            .set_dictionary_page_offset((dictionary > 0).then_some(0));
        if let Some(statistics) = statistics {
            metadata = metadata.set_statistics(statistics);
        }
        let close = ColumnCloseResult {
            bytes_written: out.len() as u64,
            rows_written: chunk.rows,
            metadata: metadata.build()?,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok((out.into(), close))
    }

    fn dictionary_page(
        &mut self,
        compressor: &mut PageCompressor,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let numbers = &self.dictionary.entries;
        let words = &self.values.words.entries;
        let entries = numbers.len().max(words.len());
        if entries == 0 {
            return Ok(());
        }
        compressor.plain.clear();
        for word in words {
            compressor
                .plain
                .extend_from_slice(&(word.len() as u32).to_le_bytes());
            compressor.plain.extend_from_slice(word.as_bytes());
        }
        plain(
            numbers,
            self.descr.physical_type() == Type::INT32,
            &mut compressor.plain,
        );
        compressor.compress(0)?;
        let page = Page::DictionaryPage {
            buf: Bytes::copy_from_slice(&compressor.packed),
            num_values: entries as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        let page = CompressedPage::new(page, compressor.plain.len());
        self.count(pages::append(page, out)?);
        self.note_encoding(Encoding::PLAIN);
        Ok(())
    }

    /// Returns the smallest and largest value of an integer column.
    fn statistics(&self) -> Option<Statistics> {
        let (least, most) = self.bounds;
        if least > most {
            return None;
        }
        let (least, most) = (least ^ self.sign, most ^ self.sign);
        let nulls = Some(self.nulls);
        match self.descr.physical_type() {
            Type::INT32 => {
                let (least, most) = (Some(least as i32), Some(most as i32));
                Some(Statistics::int32(least, most, None, nulls, false))
            }
            Type::INT64 => {
                let (least, most) = (Some(least as i64), Some(most as i64));
                Some(Statistics::int64(least, most, None, nulls, false))
            }
            _ => None,
        }
    }
}
