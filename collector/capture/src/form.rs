// SPDX-License-Identifier: Apache-2.0
//! Reads columns of captures that other programs rewrote: Spark has no unsigned numbers and
//! uses decimals, pandas turns nullable numbers into floating point, and every program makes
//! all columns nullable.

use crate::levels;
use parquet::basic::{ConvertedType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::ColumnDescriptor;

/// How a file stores the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As in this format.
    Own,
    Signed,
    Unsigned,
    Decimal {
        scale: u32,
    },
    Float,
    Bool,
}

/// One value in another form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell {
    Whole(i128),
    Float(f64),
}

/// Largest integer up to which floating point represents every integer.
const MOST_EXACT: f64 = 9_007_199_254_740_992.0;

impl Cell {
    /// Returns the number if it is an integer and fits.
    pub(crate) fn whole<T: TryFrom<i128>>(self) -> Result<T> {
        let number = match self {
            Self::Whole(number) => number,
            Self::Float(v) if v.fract() == 0.0 && v.abs() < MOST_EXACT => v as i128,
            Self::Float(v) => {
                return Err(general(format!(
                    "holds {v} as floating point, which cannot hold all whole numbers so large: \
                     write the column as nullable whole numbers"
                )));
            }
        };
        T::try_from(number).map_err(|_| general(format!("holds {number}, which is out of range")))
    }

    pub(crate) fn float(self) -> f64 {
        match self {
            Self::Whole(number) => number as f64,
            Self::Float(v) => v,
        }
    }
}

fn general(what: String) -> ParquetError {
    ParquetError::General(what)
}

impl Form {
    /// Returns the form in which `found` stores a column that `expected` describes.
    ///
    /// # Errors
    /// `found` cannot hold the column's values; says why.
    pub(crate) fn of(
        found: &ColumnDescriptor,
        expected: &ColumnDescriptor,
    ) -> std::result::Result<Self, String> {
        if found.max_rep_level() > 0 {
            return Err("is a list".to_owned());
        }
        let meaning = found.converted_type();
        let (stored, wanted) = (found.physical_type(), expected.physical_type());
        if stored == wanted && same_meaning(meaning, expected.converted_type(), stored) {
            return Ok(Self::Own);
        }
        if wanted == Type::BYTE_ARRAY {
            return Err(format!("is stored as {stored}, but holds text"));
        }
        match (stored, meaning) {
            (
                Type::INT32 | Type::INT64 | Type::FIXED_LEN_BYTE_ARRAY | Type::BYTE_ARRAY,
                ConvertedType::DECIMAL,
            ) => {
                let scale = u32::try_from(found.type_scale()).unwrap_or(0);
                Ok(Self::Decimal { scale })
            }
            (Type::INT32 | Type::INT64, m) if is_unsigned(m) => Ok(Self::Unsigned),
            (Type::INT32 | Type::INT64, m) if is_signed(m) => Ok(Self::Signed),
            (Type::FLOAT | Type::DOUBLE, _) => Ok(Self::Float),
            (Type::BOOLEAN, _) => Ok(Self::Bool),
            (_, ConvertedType::NONE) => Err(format!("is stored as {stored}, but holds numbers")),
            _ => Err(format!(
                "is stored as {stored} ({meaning}), but holds numbers"
            )),
        }
    }

    /// Reads the next values of a column in another form.
    pub(crate) fn cells(self, column: &mut ColumnReader, rows: usize) -> Result<Vec<Option<Cell>>> {
        use ColumnReader as R;
        let unsigned = self == Self::Unsigned;
        match column {
            R::BoolColumnReader(c) => each(c, rows, |v| Ok(Cell::Whole(v.into()))),
            R::Int32ColumnReader(c) if unsigned => {
                each(c, rows, |v| Ok(Cell::Whole((v as u32).into())))
            }
            R::Int64ColumnReader(c) if unsigned => {
                each(c, rows, |v| Ok(Cell::Whole((v as u64).into())))
            }
            R::Int32ColumnReader(c) => each(c, rows, |v| self.number(v.into())),
            R::Int64ColumnReader(c) => each(c, rows, |v| self.number(v.into())),
            R::FloatColumnReader(c) => each(c, rows, |v| Ok(Cell::Float(v.into()))),
            R::DoubleColumnReader(c) => each(c, rows, |v| Ok(Cell::Float(v))),
            R::FixedLenByteArrayColumnReader(c) => {
                each(c, rows, |v| self.number(big_endian(v.data())?))
            }
            R::ByteArrayColumnReader(c) => each(c, rows, |v| self.number(big_endian(v.data())?)),
            R::Int96ColumnReader(_) => Err(general("is stored as INT96".to_owned())),
        }
    }

    fn number(self, stored: i128) -> Result<Cell> {
        let Self::Decimal { scale } = self else {
            return Ok(Cell::Whole(stored));
        };
        match 10i128.checked_pow(scale) {
            Some(unit) if stored % unit == 0 => Ok(Cell::Whole(stored / unit)),
            Some(unit) => Ok(Cell::Float(stored as f64 / unit as f64)),
            None => Err(general(format!("is a decimal of {scale} places"))),
        }
    }
}

/// Decodes a signed big-endian decimal.
fn big_endian(bytes: &[u8]) -> Result<i128> {
    let negative = bytes.first().is_some_and(|b| b & 0x80 != 0);
    let sign = if negative { 0xff } else { 0 };
    let spare = bytes.len().saturating_sub(16);
    let (high, low) = bytes.split_at_checked(spare).unwrap_or((bytes, &[]));
    if high.iter().any(|&b| b != sign) {
        return Err(general("holds a decimal of more than 128 bits".to_owned()));
    }
    let start = if negative { -1 } else { 0 };
    Ok(low
        .iter()
        .fold(start, |number: i128, &b| number << 8 | i128::from(b)))
}

fn is_unsigned(meaning: ConvertedType) -> bool {
    use ConvertedType as C;
    matches!(meaning, C::UINT_8 | C::UINT_16 | C::UINT_32 | C::UINT_64)
}

fn is_signed(meaning: ConvertedType) -> bool {
    use ConvertedType as C;
    matches!(
        meaning,
        C::NONE | C::INT_8 | C::INT_16 | C::INT_32 | C::INT_64
    )
}

/// Returns whether two columns of the same physical type have the same meaning.
fn same_meaning(found: ConvertedType, expected: ConvertedType, stored: Type) -> bool {
    match stored {
        // Not all writers mark text as such; its bytes are checked when read.
        Type::BYTE_ARRAY => found != ConvertedType::DECIMAL,
        Type::INT32 | Type::INT64 if is_unsigned(expected) => found == expected,
        Type::INT32 | Type::INT64 => is_signed(found),
        _ => true,
    }
}

/// Reads the next values; `None` if a row has no value.
fn each<T: DataType>(
    column: &mut ColumnReaderImpl<T>,
    rows: usize,
    cell: impl Fn(T::T) -> Result<Cell>,
) -> Result<Vec<Option<Cell>>> {
    let (stored, levels) = levels::read(column, rows)?;
    levels::spread(stored.into_iter().map(cell), levels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_have_their_sign_and_their_places() {
        assert_eq!(big_endian(&[0, 0xff, 0xff]).unwrap(), 0xffff);
        assert_eq!(big_endian(&[0xff; 20]).unwrap(), -1);
        let mut large = [0u8; 20];
        large[0] = 1;
        assert!(big_endian(&large).is_err());
        let cents = Form::Decimal { scale: 2 };
        assert_eq!(cents.number(700).unwrap(), Cell::Whole(7));
        assert_eq!(cents.number(705).unwrap(), Cell::Float(7.05));
    }

    #[test]
    fn numbers_that_do_not_fit_are_errors() {
        assert_eq!(Cell::Whole(255).whole::<u8>().unwrap(), 255);
        assert!(Cell::Whole(256).whole::<u8>().is_err());
        assert!(Cell::Whole(-1).whole::<u64>().is_err());
        assert_eq!(
            Cell::Float(4e15).whole::<u64>().unwrap(),
            4_000_000_000_000_000
        );
        for lossy in [0.5, 1e16, f64::NAN, f64::INFINITY] {
            assert!(Cell::Float(lossy).whole::<u64>().is_err(), "{lossy}");
        }
    }
}
