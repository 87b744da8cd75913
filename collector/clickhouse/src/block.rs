// SPDX-License-Identifier: Apache-2.0
//! Collects one batch of a table column by column and writes the batch as a block
//! in ClickHouse's Native format.

use crate::column::{Data, varint};
use crate::config::Compression;
use crate::tables::Table;
use std::io::Write;
use std::marker::PhantomData;

/// Rows per piece when appending: a piece stays in the CPU cache.
const PIECE_ROWS: usize = 256;
/// The fastest level that still compresses these columns severalfold.
const ZSTD_LEVEL: i32 = 1;

/// Values shared by all rows of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Common<'a> {
    /// Identity of the capture that the rows belong to.
    pub capture: &'a str,
    /// Number of the batch within the capture.
    pub batch: u64,
    /// Days since 1970.
    pub stored_on: u16,
}

/// Collects rows, column by column.
pub struct Builder<T> {
    /// Number of rows.
    pub rows: usize,
    /// `order` of the first row.
    pub first_order: u64,
    unix_minus_node_ns: Data,
    columns: Vec<Data>,
    table: PhantomData<T>,
}

impl<T: Table> Default for Builder<T> {
    fn default() -> Self {
        Self {
            rows: 0,
            first_order: 0,
            unix_minus_node_ns: Data::default(),
            columns: T::COLUMNS.iter().map(|_| Data::default()).collect(),
            table: PhantomData,
        }
    }
}

impl<T: Table> Builder<T> {
    /// Appends rows. `offset` returns what to add to a row's time to get Unix time.
    pub fn append(&mut self, rows: &[T], mut offset: impl FnMut(&T) -> i64) {
        if self.rows == 0
            && let Some(first) = rows.first()
        {
            self.first_order = first.order();
        }
        self.rows += rows.len();
        for piece in rows.chunks(PIECE_ROWS) {
            for row in piece {
                let ns = offset(row).to_le_bytes();
                self.unix_minus_node_ns.values.extend_from_slice(&ns);
            }
            for (column, data) in T::COLUMNS.iter().zip(&mut self.columns) {
                (column.append)(piece, data);
            }
        }
    }

    /// Removes the rows but keeps the allocated memory.
    pub fn clear(&mut self) {
        self.rows = 0;
        self.unix_minus_node_ns.clear();
        self.columns.iter_mut().for_each(Data::clear);
    }

    /// Writes the block.
    ///
    /// # Errors
    /// A write to `out` failed.
    pub fn write(&self, common: &Common<'_>, out: &mut impl Write) -> std::io::Result<()> {
        let rows = self.rows as u64;
        let mut head = Vec::with_capacity(256);
        varint(&mut head, T::COLUMNS.len() as u64 + 4);
        varint(&mut head, rows);
        name(&mut head, "capture", "LowCardinality(String)");
        constant_text(&mut head, common.capture, rows);
        out.write_all(&head)?;
        out.write_all(&vec![0; self.rows])?;
        let mut column = |column: &str, kind: &str, parts: [&[u8]; 2]| {
            head.clear();
            name(&mut head, column, kind);
            out.write_all(&head)?;
            parts.iter().try_for_each(|part| out.write_all(part))
        };
        let batch = common.batch.to_le_bytes().repeat(self.rows);
        column("batch", "UInt64", [&[], &batch])?;
        let stored_on = common.stored_on.to_le_bytes().repeat(self.rows);
        column("stored_on", "Date", [&[], &stored_on])?;
        let offsets = &self.unix_minus_node_ns.values;
        column("unix_minus_node_ns", "Int64", [&[], offsets])?;
        for (c, data) in T::COLUMNS.iter().zip(&self.columns) {
            column(c.name, c.kind, [&data.nulls, &data.values])?;
        }
        Ok(())
    }

    /// Returns the block, compressed.
    ///
    /// # Errors
    /// zstd failed, which only happens if memory runs out.
    pub fn pack(&self, common: &Common<'_>, compression: Compression) -> std::io::Result<Vec<u8>> {
        match compression {
            Compression::None => {
                let mut out = Vec::with_capacity(self.rows * 192 + 4096);
                self.write(common, &mut out)?;
                Ok(out)
            }
            Compression::Zstd => {
                let out = Vec::with_capacity(self.rows * 24 + 4096);
                let mut encoder = zstd::Encoder::new(out, ZSTD_LEVEL)?;
                encoder.include_checksum(true)?;
                self.write(common, &mut encoder)?;
                encoder.finish()
            }
        }
    }
}

fn name(out: &mut Vec<u8>, name: &str, kind: &str) {
    for s in [name, kind] {
        varint(out, s.len() as u64);
        out.extend_from_slice(s.as_bytes());
    }
}

/// Writes the header of a LowCardinality(String) column in which every row has key 0:
/// version, index type with the dictionary included, one key, number of rows.
fn constant_text(out: &mut Vec<u8>, value: &str, rows: u64) {
    const SHARED_DICTIONARIES_WITH_ADDITIONAL_KEYS: u64 = 1;
    const INDEX_U8: u64 = 0;
    const HAS_ADDITIONAL_KEYS: u64 = 1 << 9;
    const NEEDS_UPDATE: u64 = 1 << 10;
    out.extend_from_slice(&SHARED_DICTIONARIES_WITH_ADDITIONAL_KEYS.to_le_bytes());
    out.extend_from_slice(&(INDEX_U8 | HAS_ADDITIONAL_KEYS | NEEDS_UPDATE).to_le_bytes());
    out.extend_from_slice(&1u64.to_le_bytes());
    varint(out, value.len() as u64);
    out.extend_from_slice(value.as_bytes());
    out.extend_from_slice(&rows.to_le_bytes());
}

/// Column list for an INSERT into the table of `T`, in the block's order.
pub fn column_list<T: Table>() -> String {
    let mut names = vec!["capture", "batch", "stored_on", "unix_minus_node_ns"];
    names.extend(T::COLUMNS.iter().map(|c| c.name));
    names
        .iter()
        .map(|n| format!("`{n}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_rows::PostcardRow;

    #[test]
    fn a_block_says_its_columns_and_rows() {
        let rows: Vec<PostcardRow> = (0..600)
            .map(|i| PostcardRow {
                order: 7 + i,
                dropped: i % 2 == 0,
                ..PostcardRow::default()
            })
            .collect();
        let mut b = Builder::<PostcardRow>::default();
        b.append(&rows[..300], |_| 5);
        b.append(&rows[300..], |_| 5);
        assert_eq!((b.rows, b.first_order), (600, 7));
        let common = Common {
            capture: "c",
            batch: 7,
            stored_on: 20_000,
        };
        let plain = b.pack(&common, Compression::None).unwrap();
        assert_eq!(plain[0] as usize, PostcardRow::COLUMNS.len() + 4);
        assert_eq!(&plain[1..3], &[0xd8, 0x04], "600 as a varint");
        // 19 bytes for the common columns, 143 for the row: all widths are fixed.
        let per_row = 19 + 143;
        let heads = plain.len() - 600 * per_row;
        assert!((600..1200).contains(&heads), "{heads}");
        let packed = b.pack(&common, Compression::Zstd).unwrap();
        assert_eq!(zstd::decode_all(packed.as_slice()).unwrap(), plain);
        b.clear();
        assert_eq!(b.rows, 0);
        let empty = b.pack(&common, Compression::None).unwrap();
        assert_eq!(empty[1], 0);
    }
}
