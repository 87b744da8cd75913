// SPDX-License-Identifier: Apache-2.0
//! A table of a capture as text: columns and units as in
//! `docs/capture-format.md`.

use crate::error::CaptureError;
use crate::meta::CaptureMeta;
use crate::reader::files;
use arrow::array::{Array, RecordBatch};
use arrow::datatypes::DataType;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Names of the tables.
pub const TABLES: [&str; 3] = ["postcards", "tcp_probe", "events"];

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
    /// A line of names, then a line per row; nothing where a value is absent.
    Csv,
    /// A JSON object per line, without absent values.
    Jsonl,
}

/// Writes all rows of a table in their order; returns their number.
///
/// # Errors
/// When the directory holds no capture, a file cannot be read or `out` not be
/// written.
pub fn export(
    dir: &Path,
    table: &str,
    format: TextFormat,
    out: &mut impl Write,
) -> Result<u64, CaptureError> {
    CaptureMeta::read(dir)?;
    let mut text = String::new();
    let mut rows = 0;
    let mut head = format == TextFormat::Csv;
    for path in files(dir, table)? {
        let file = File::open(&path).map_err(CaptureError::io(&path))?;
        let reader = ParquetRecordBatchReaderBuilder::try_new(file)
            .and_then(|b| b.with_batch_size(4096).build())
            .map_err(CaptureError::parquet(&path))?;
        for batch in reader {
            let batch = batch?;
            if head {
                head = false;
                let names: Vec<String> = batch
                    .schema()
                    .fields()
                    .iter()
                    .map(|f| f.name().clone())
                    .collect();
                text.push_str(&names.join(","));
                text.push('\n');
            }
            lines(&batch, format, &mut text)?;
            rows += batch.num_rows() as u64;
            out.write_all(text.as_bytes())
                .map_err(CaptureError::io("the output"))?;
            text.clear();
        }
    }
    out.flush().map_err(CaptureError::io("the output"))?;
    Ok(rows)
}

struct Cells<'a> {
    name: String,
    array: &'a dyn Array,
    formatter: ArrayFormatter<'a>,
    text: bool,
}

fn lines(batch: &RecordBatch, format: TextFormat, out: &mut String) -> Result<(), CaptureError> {
    let options = FormatOptions::default();
    let schema = batch.schema();
    let mut columns = Vec::new();
    for (field, array) in schema.fields().iter().zip(batch.columns()) {
        columns.push(Cells {
            name: field.name().clone(),
            array: array.as_ref(),
            formatter: ArrayFormatter::try_new(array.as_ref(), &options)?,
            text: matches!(
                field.data_type(),
                DataType::Utf8 | DataType::Dictionary(_, _)
            ),
        });
    }
    for row in 0..batch.num_rows() {
        match format {
            TextFormat::Csv => csv(&columns, row, out),
            TextFormat::Jsonl => json(&columns, row, out),
        }
        out.push('\n');
    }
    Ok(())
}

fn csv(columns: &[Cells<'_>], row: usize, out: &mut String) {
    for (i, c) in columns.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        if c.array.is_null(row) {
            continue;
        }
        let value = c.formatter.value(row);
        if c.text {
            let value = value.to_string();
            if value.contains([',', '"', '\n', '\r']) {
                out.push('"');
                out.push_str(&value.replace('"', "\"\""));
                out.push('"');
            } else {
                out.push_str(&value);
            }
        } else {
            // Writing to a string does not fail.
            let _ = write!(out, "{value}");
        }
    }
}

fn json(columns: &[Cells<'_>], row: usize, out: &mut String) {
    let mut between = '{';
    for c in columns.iter().filter(|c| !c.array.is_null(row)) {
        out.push(between);
        between = ',';
        let value = c.formatter.value(row);
        // As above.
        let _ = if c.text {
            let quoted = serde_json::Value::from(value.to_string());
            write!(out, "\"{}\":{quoted}", c.name)
        } else {
            write!(out, "\"{}\":{value}", c.name)
        };
    }
    if between == '{' {
        out.push('{');
    }
    out.push('}');
}
