// SPDX-License-Identifier: Apache-2.0
//! A table of a capture as text: columns and units as in
//! `docs/reference/capture-format.md`.

use crate::error::CaptureError;
use crate::meta::CaptureMeta;
use crate::reader::files;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::{Field, Row};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Names of the tables.
pub const TABLES: [&str; 3] = ["postcards", "tcp_probe", "events"];

/// Text is written in pieces of about this size.
const WRITTEN_BYTES: usize = 1 << 20;

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
        let reader = SerializedFileReader::new(file).map_err(CaptureError::parquet(&path))?;
        if std::mem::take(&mut head) {
            let columns = reader.metadata().file_metadata().schema_descr();
            let names: Vec<&str> = columns.columns().iter().map(|c| c.name()).collect();
            text.push_str(&names.join(","));
            text.push('\n');
        }
        for row in reader
            .get_row_iter(None)
            .map_err(CaptureError::parquet(&path))?
        {
            let row = row.map_err(CaptureError::parquet(&path))?;
            match format {
                TextFormat::Csv => csv(&row, &mut text),
                TextFormat::Jsonl => json(&row, &mut text),
            }
            text.push('\n');
            rows += 1;
            if text.len() >= WRITTEN_BYTES {
                write(&mut text, out)?;
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

fn csv(row: &Row, out: &mut String) {
    for (i, (_, field)) in row.get_column_iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        match field {
            Field::Null => {}
            Field::Str(value) if value.contains([',', '"', '\n', '\r']) => {
                out.push('"');
                out.push_str(&value.replace('"', "\"\""));
                out.push('"');
            }
            Field::Str(value) => out.push_str(value),
            number => plain(number, out),
        }
    }
}

fn json(row: &Row, out: &mut String) {
    let mut between = '{';
    for (name, field) in row.get_column_iter().filter(|(_, f)| **f != Field::Null) {
        out.push(between);
        between = ',';
        // Writing to a string does not fail.
        let _ = write!(out, "\"{name}\":");
        match field {
            Field::Str(value) => {
                let _ = write!(out, "{}", serde_json::Value::from(value.as_str()));
            }
            number => plain(number, out),
        }
    }
    if between == '{' {
        out.push('{');
    }
    out.push('}');
}

/// A number or a truth value. (The field's own text gives a float a fraction.)
fn plain(field: &Field, out: &mut String) {
    // Writing to a string does not fail.
    let _ = match field {
        Field::Double(value) => write!(out, "{value}"),
        other => write!(out, "{other}"),
    };
}
