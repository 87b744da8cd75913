// SPDX-License-Identifier: Apache-2.0
//! Converts columns of a capture to Arrow arrays.
//!
//! 64-bit integers become signed: times of any clock fit, and differences of counts and sizes do
//! not wrap.

use arrow_array::types::{
    ArrowPrimitiveType, Float64Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
};
use arrow_array::{ArrayRef, BooleanArray, PrimitiveArray, StringArray};
use arrow_schema::{ArrowError, DataType, Field};
use std::sync::Arc;
use tidemark_capture::{CellType, Cells};

/// Returns the Arrow field of a column.
pub(crate) fn field(name: &str, cell_type: CellType, nullable: bool) -> Field {
    Field::new(name, data_type(cell_type), nullable)
}

fn data_type(cell_type: CellType) -> DataType {
    match cell_type {
        CellType::U8 => DataType::UInt8,
        CellType::U16 => DataType::UInt16,
        CellType::U32 => DataType::UInt32,
        CellType::U64 | CellType::I64 => DataType::Int64,
        CellType::I32 => DataType::Int32,
        CellType::F64 => DataType::Float64,
        CellType::Bool => DataType::Boolean,
        CellType::Text => DataType::Utf8,
    }
}

/// Returns the values of `rows` in a column, as an array of type `as_type`.
pub(crate) fn array(
    name: &str,
    as_type: &DataType,
    cells: &Cells,
    rows: &[usize],
) -> Result<ArrayRef, ArrowError> {
    Ok(match (cells, as_type) {
        (Cells::Unsigned(v), DataType::UInt8) => numbers::<UInt8Type, _>(name, v, rows)?,
        (Cells::Unsigned(v), DataType::UInt16) => numbers::<UInt16Type, _>(name, v, rows)?,
        (Cells::Unsigned(v), DataType::UInt32) => numbers::<UInt32Type, _>(name, v, rows)?,
        (Cells::Unsigned(v), _) => numbers::<Int64Type, _>(name, v, rows)?,
        (Cells::Signed(v), DataType::Int32) => numbers::<Int32Type, _>(name, v, rows)?,
        (Cells::Signed(v), _) => numbers::<Int64Type, _>(name, v, rows)?,
        (Cells::Float(v), _) => numbers::<Float64Type, _>(name, v, rows)?,
        (Cells::Truth(v), _) => {
            Arc::new(rows.iter().map(|&r| value(v, r)).collect::<BooleanArray>())
        }
        (Cells::Text(v), _) => {
            let words = rows.iter().map(|&r| v.get(r).and_then(Option::as_deref));
            Arc::new(words.collect::<StringArray>())
        }
    })
}

fn value<T: Copy>(values: &[Option<T>], row: usize) -> Option<T> {
    values.get(row).copied().flatten()
}

/// Converts numbers; one that the type cannot hold is an error: no writer of captures makes one.
fn numbers<T, V>(name: &str, values: &[Option<V>], rows: &[usize]) -> Result<ArrayRef, ArrowError>
where
    T: ArrowPrimitiveType<Native: TryFrom<V>>,
    V: Copy + std::fmt::Display,
{
    let number = |v: V| {
        T::Native::try_from(v).map_err(|_| {
            let text = format!("column {name}: {v} is beyond {}", T::DATA_TYPE);
            ArrowError::ComputeError(text)
        })
    };
    let numbers = rows
        .iter()
        .map(|&r| value(values, r).map(number).transpose());
    let numbers: PrimitiveArray<T> = numbers
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .collect();
    Ok(Arc::new(numbers))
}
