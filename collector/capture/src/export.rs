// SPDX-License-Identifier: Apache-2.0
//! A table of a capture as text: columns and units as in
//! `docs/reference/capture-format.md`.

use crate::capture_file::CaptureFile;
use crate::error::CaptureError;
use crate::meta::CaptureMeta;
use crate::reader::{files, rows_of};
use crate::selection::{Selection, Wanted};
use crate::table::{Bool, F64, I32, I64, Kind as _, Text, U32, U64};
use parquet::basic::{ConvertedType, Type};
use parquet::column::reader::ColumnReader;
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescriptor;
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Names of the tables.
pub const TABLES: [&str; 3] = ["postcards", "tcp_probe", "events"];

/// Rows that are read and written at a time.
const BATCH_ROWS: usize = 4096;

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
    /// A line of names, then a line per row; nothing where a value is absent.
    Csv,
    /// A JSON object per line, without absent values.
    Jsonl,
}

/// What is written, and how.
#[derive(Clone, Debug)]
pub struct Export<'a> {
    /// One of [`TABLES`].
    pub table: &'a str,
    /// How rows are written.
    pub format: TextFormat,
    /// Which rows.
    pub selection: Selection,
}

/// Writes rows of a table in their order; returns their number. `told` hears how many
/// rows of how many were looked at.
///
/// # Errors
/// When the directory holds no capture, a file cannot be read or `out` not be
/// written.
pub fn export(
    dir: &Path,
    what: &Export<'_>,
    out: &mut impl Write,
    mut told: impl FnMut(u64, u64),
) -> Result<u64, CaptureError> {
    CaptureMeta::read(dir)?;
    let (table, format) = (what.table, what.format);
    let there = rows_of(dir, table)?;
    let wanted = Wanted::of(&what.selection, dir, table)?;
    let mut text = String::new();
    let (mut rows, mut seen) = (0, 0);
    let mut head = format == TextFormat::Csv;
    for path in files(dir, table)? {
        let file = CaptureFile::open(path)?;
        let metadata = &file.metadata;
        if std::mem::take(&mut head) {
            let columns = metadata.file_metadata().schema_descr();
            let names: Vec<&str> = columns.columns().iter().map(|c| c.name()).collect();
            text.push_str(&names.join(","));
            text.push('\n');
        }
        for (number, group) in metadata.row_groups().iter().enumerate() {
            let mut left = file.rows_of_group(number);
            if !wanted.may_be_in(group) {
                seen += left as u64;
                told(seen, there);
                continue;
            }
            let chunks = group.columns().iter().enumerate().map(|(i, column)| {
                let chunk = file.column(number, i)?;
                Ok((column.column_descr_ptr(), chunk))
            });
            let mut chunks = chunks.collect::<Result<Vec<_>, CaptureError>>()?;
            while left > 0 {
                let batch = left.min(BATCH_ROWS);
                let mut columns = Vec::with_capacity(chunks.len());
                for (i, (descr, chunk)) in chunks.iter_mut().enumerate() {
                    let cells = file.read(number, i, || Cells::read(descr, chunk, batch))?;
                    columns.push((descr.name(), cells));
                }
                let place = |name: &str| columns.iter().position(|c| c.0 == name);
                let places = wanted.columns().map(place);
                for row in 0..batch {
                    let cell = |i: usize| columns[places[i]?].1.unsigned(row);
                    if !wanted.has(cell) {
                        continue;
                    }
                    match format {
                        TextFormat::Csv => csv(&columns, row, &mut text),
                        TextFormat::Jsonl => json(&columns, row, &mut text),
                    }
                    text.push('\n');
                    rows += 1;
                }
                write(&mut text, out)?;
                left -= batch;
                seen += batch as u64;
                told(seen, there);
            }
        }
    }
    write(&mut text, out)?;
    out.flush().map_err(CaptureError::io("the output"))?;
    Ok(rows)
}

fn write(text: &mut String, out: &mut impl Write) -> Result<(), CaptureError> {
    out.write_all(text.as_bytes())
        .map_err(CaptureError::io("the output"))?;
    text.clear();
    Ok(())
}

/// Values of one column.
enum Cells {
    Unsigned(Vec<Option<u64>>),
    Signed(Vec<Option<i64>>),
    Float(Vec<Option<f64>>),
    Truth(Vec<Option<bool>>),
    Text(Vec<Option<Arc<str>>>),
}

impl Cells {
    /// The next `rows` values.
    fn read(
        descr: &ColumnDescriptor,
        chunk: &mut ColumnReader,
        rows: usize,
    ) -> Result<Self, ParquetError> {
        let unsigned = matches!(
            descr.converted_type(),
            ConvertedType::UINT_8
                | ConvertedType::UINT_16
                | ConvertedType::UINT_32
                | ConvertedType::UINT_64
        );
        Ok(match (descr.physical_type(), unsigned) {
            (Type::INT32, true) => Self::Unsigned(widened(U32::read(chunk, rows)?)),
            (Type::INT32, false) => Self::Signed(widened(I32::read(chunk, rows)?)),
            (Type::INT64, true) => Self::Unsigned(U64::read(chunk, rows)?),
            (Type::INT64, false) => Self::Signed(I64::read(chunk, rows)?),
            (Type::DOUBLE, _) => Self::Float(F64::read(chunk, rows)?),
            (Type::BOOLEAN, _) => Self::Truth(Bool::read(chunk, rows)?),
            (Type::BYTE_ARRAY, _) => Self::Text(Text::read(chunk, rows)?),
            (kind, _) => {
                let text = format!("column {}: no capture has {kind}", descr.name());
                return Err(ParquetError::General(text));
            }
        })
    }

    /// The value of a row where it is a number without a sign.
    fn unsigned(&self, row: usize) -> Option<u64> {
        match self {
            Self::Unsigned(v) => at(v, row).copied(),
            _ => None,
        }
    }

    /// Writes the value of a row, words by `word`; false where there is none.
    fn write(&self, row: usize, out: &mut String, word: fn(&str, &mut String)) -> bool {
        // Writing to a string does not fail.
        match self {
            Self::Unsigned(v) => at(v, row).is_some_and(|v| write!(out, "{v}").is_ok()),
            Self::Signed(v) => at(v, row).is_some_and(|v| write!(out, "{v}").is_ok()),
            Self::Float(v) => at(v, row).is_some_and(|v| write!(out, "{v}").is_ok()),
            Self::Truth(v) => at(v, row).is_some_and(|v| write!(out, "{v}").is_ok()),
            Self::Text(v) => at(v, row).map(|v| word(v, out)).is_some(),
        }
    }
}

fn widened<T, U: From<T>>(values: Vec<Option<T>>) -> Vec<Option<U>> {
    values.into_iter().map(|v| v.map(U::from)).collect()
}

fn at<T>(values: &[Option<T>], row: usize) -> Option<&T> {
    values.get(row).and_then(Option::as_ref)
}

fn csv(columns: &[(&str, Cells)], row: usize, out: &mut String) {
    for (i, (_, cells)) in columns.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        cells.write(row, out, quoted);
    }
}

/// As RFC 4180 has it.
fn quoted(word: &str, out: &mut String) {
    if word.contains([',', '"', '\n', '\r']) {
        out.push('"');
        out.push_str(&word.replace('"', "\"\""));
        out.push('"');
    } else {
        out.push_str(word);
    }
}

fn json(columns: &[(&str, Cells)], row: usize, out: &mut String) {
    out.push('{');
    let start = out.len();
    for (name, cells) in columns {
        let before = out.len();
        if before > start {
            out.push(',');
        }
        // Writing to a string does not fail.
        let _ = write!(out, "\"{name}\":");
        if !cells.write(row, out, escaped) {
            out.truncate(before);
        }
    }
    out.push('}');
}

fn escaped(word: &str, out: &mut String) {
    // Writing to a string does not fail.
    let _ = write!(out, "{}", serde_json::Value::from(word));
}
