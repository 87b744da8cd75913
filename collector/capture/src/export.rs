// SPDX-License-Identifier: Apache-2.0
//! A table of a capture as text: columns and units as in
//! `docs/reference/capture-format.md`.

use crate::error::CaptureError;
use crate::meta::CaptureMeta;
use crate::reader::files;
use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    Float64Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType};
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

/// Writes the value of a row.
type WriteNumber<'a> = Box<dyn Fn(usize, &mut String) + 'a>;

/// The values of a column as text.
enum Values<'a> {
    Number(WriteNumber<'a>),
    Text(Box<dyn Fn(usize) -> &'a str + 'a>),
}

impl<'a> Values<'a> {
    /// `None` for a type that no table of a capture has.
    fn of(array: &'a dyn Array) -> Option<Self> {
        macro_rules! number {
            ($kind:ty) => {{
                let values = array.as_primitive_opt::<$kind>()?;
                Values::Number(Box::new(move |row, out| {
                    // Writing to a string does not fail.
                    let _ = write!(out, "{}", values.value(row));
                }))
            }};
        }
        Some(match array.data_type() {
            DataType::UInt8 => number!(UInt8Type),
            DataType::UInt16 => number!(UInt16Type),
            DataType::UInt32 => number!(UInt32Type),
            DataType::UInt64 => number!(UInt64Type),
            DataType::Int32 => number!(Int32Type),
            DataType::Int64 => number!(Int64Type),
            DataType::Float64 => number!(Float64Type),
            DataType::Boolean => {
                let values = array.as_boolean_opt()?;
                Values::Number(Box::new(move |row, out| {
                    out.push_str(if values.value(row) { "true" } else { "false" });
                }))
            }
            DataType::Utf8 => {
                let values = array.as_string_opt::<i32>()?;
                Values::Text(Box::new(move |row| values.value(row)))
            }
            DataType::Dictionary(_, _) => {
                let all = array.as_dictionary_opt::<Int32Type>()?;
                let values = all.downcast_dict::<StringArray>()?;
                Values::Text(Box::new(move |row| {
                    use arrow_array::ArrayAccessor as _;
                    values.value(row)
                }))
            }
            _ => return None,
        })
    }
}

struct Cells<'a> {
    name: String,
    array: &'a dyn Array,
    values: Values<'a>,
}

fn lines(batch: &RecordBatch, format: TextFormat, out: &mut String) -> Result<(), CaptureError> {
    let schema = batch.schema();
    let mut columns = Vec::new();
    for (field, array) in schema.fields().iter().zip(batch.columns()) {
        let unknown = || {
            let kind = field.data_type();
            ArrowError::SchemaError(format!("column {}: no capture has {kind}", field.name()))
        };
        columns.push(Cells {
            name: field.name().clone(),
            array: array.as_ref(),
            values: Values::of(array.as_ref()).ok_or_else(unknown)?,
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
        match &c.values {
            Values::Number(write) => write(row, out),
            Values::Text(value) => {
                let value = value(row);
                if value.contains([',', '"', '\n', '\r']) {
                    out.push('"');
                    out.push_str(&value.replace('"', "\"\""));
                    out.push('"');
                } else {
                    out.push_str(value);
                }
            }
        }
    }
}

fn json(columns: &[Cells<'_>], row: usize, out: &mut String) {
    let mut between = '{';
    for c in columns.iter().filter(|c| !c.array.is_null(row)) {
        out.push(between);
        between = ',';
        // Writing to a string does not fail.
        let _ = write!(out, "\"{}\":", c.name);
        match &c.values {
            Values::Number(write) => write(row, out),
            Values::Text(value) => {
                let _ = write!(out, "{}", serde_json::Value::from(value(row)));
            }
        }
    }
    if between == '{' {
        out.push('{');
    }
    out.push('}');
}
