// SPDX-License-Identifier: Apache-2.0
//! Exports a table of a capture as text; `docs/reference/capture-format.md` describes
//! its columns and units.

use crate::columns::{Cells, Columns};
use crate::error::CaptureError;
use crate::reader::rows_of;
use crate::selection::Selection;
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
    /// A header line, then one line per row; missing values are empty.
    Csv,
    /// One JSON object per line, without missing values.
    Jsonl,
}

/// The table, format and rows to export.
#[derive(Clone, Debug)]
pub struct Export<'a> {
    /// One of [`crate::TABLES`].
    pub table: &'a str,
    /// How rows are written.
    pub format: TextFormat,
    /// The rows to export.
    pub selection: Selection,
}

/// Writes the selected rows of a table in order; returns their number. Calls `told` with
/// the number of rows handled so far and the total.
///
/// # Errors
/// The directory holds no capture, a file cannot be read, or `out` cannot be
/// written.
pub fn export(
    dir: &Path,
    what: &Export<'_>,
    out: &mut impl Write,
    mut told: impl FnMut(u64, u64),
) -> Result<u64, CaptureError> {
    let (table, format) = (what.table, what.format);
    let mut columns = Columns::open(dir, table, None, &what.selection)?;
    let there = rows_of(dir, table)?;
    let mut text = String::new();
    let mut rows = 0;
    if format == TextFormat::Csv {
        let names: Vec<&str> = columns.columns().map(|c| c.0).collect();
        text.push_str(&names.join(","));
        text.push('\n');
    }
    while let Some(batch) = columns.next_batch()? {
        for &row in &batch.rows {
            match format {
                TextFormat::Csv => csv(&batch.columns, row, &mut text),
                TextFormat::Jsonl => json(&batch.columns, row, &mut text),
            }
            text.push('\n');
            rows += 1;
        }
        write(&mut text, out)?;
        told(columns.rows_seen(), there);
    }
    told(columns.rows_seen(), there);
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

impl Cells {
    /// Writes the value of a row, text by `word`; returns whether the row has a value.
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

/// Quotes a word as in RFC 4180. Replaces control characters, which a terminal would obey: a
/// collector accepts no name with control characters, but a foreign file may hold one.
fn quoted(word: &str, out: &mut String) {
    let printable = word.replace(char::is_control, "\u{fffd}");
    let word = printable.as_str();
    if word.contains([',', '"']) {
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
