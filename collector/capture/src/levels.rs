// SPDX-License-Identifier: Apache-2.0
//! Reads a column's values and the levels that say which rows have a value.

use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result};

/// Reads the values present and the level of each row, 0 if the row has no value; returns
/// no levels if the column is not nullable.
pub(crate) fn read<T: DataType>(
    column: &mut ColumnReaderImpl<T>,
    rows: usize,
) -> Result<(Vec<T::T>, Vec<i16>)> {
    let mut values = Vec::with_capacity(rows);
    let mut levels = Vec::new();
    let (read, _, _) = column.read_records(rows, Some(&mut levels), None, &mut values)?;
    if read < rows {
        let end = format!("ends {} rows before its row group", rows - read);
        return Err(ParquetError::EOF(end));
    }
    Ok((values, levels))
}

/// Spreads values over their rows according to the levels.
pub(crate) fn spread<V>(
    mut values: impl Iterator<Item = Result<V>>,
    levels: Vec<i16>,
) -> Result<Vec<Option<V>>> {
    if levels.is_empty() {
        return values.map(|v| v.map(Some)).collect();
    }
    let value = |level| if level == 0 { None } else { values.next() };
    levels
        .into_iter()
        .map(value)
        .map(Option::transpose)
        .collect()
}

/// Checks that a column has a value in every row.
pub(crate) fn all_there<V>(values: &[Option<V>]) -> Result<()> {
    match values.iter().position(Option::is_none) {
        Some(row) => Err(ParquetError::General(format!(
            "has no value in row {row} of its batch, but every row must have one"
        ))),
        None => Ok(()),
    }
}
