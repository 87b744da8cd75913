// SPDX-License-Identifier: Apache-2.0
//! Values of a column and the levels that say which rows have one.

use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result};

/// The values there are, and the level of each row, 0 where it has none; no levels in a
/// column where all have one.
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

/// Values in their rows, by the levels.
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

/// Of a column that has a value in every row.
pub(crate) fn all_there<V>(values: &[Option<V>]) -> Result<()> {
    match values.iter().position(Option::is_none) {
        Some(row) => Err(ParquetError::General(format!(
            "has no value in row {row} of its batch, and every row has one"
        ))),
        None => Ok(()),
    }
}
