// SPDX-License-Identifier: Apache-2.0
//! Columns of integers: zigzag, then 7 bits a byte, the lowest first.

use crate::golden::error::invalid;
use std::io;

/// One column that is read from its begin to its end.
#[derive(Debug)]
struct Column<'a> {
    bytes: &'a [u8],
}

impl Column<'_> {
    fn next(&mut self) -> Option<i64> {
        let (mut z, mut shift) = (0u64, 0u32);
        loop {
            let (&byte, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            z |= u64::from(byte & 0x7f).checked_shl(shift)?;
            shift += 7;
            if byte < 0x80 {
                return Some((z >> 1) as i64 ^ -((z & 1) as i64));
            }
        }
    }
}

/// The columns of a file.
#[derive(Debug)]
pub(crate) struct Columns<'a> {
    columns: Vec<(&'a str, Column<'a>)>,
}

/// A place among the [`Columns`]; `None` where there is no such column.
pub(crate) type Place = Option<usize>;

impl<'a> Columns<'a> {
    /// Splits `bytes` into the columns that `directory` names with their lengths.
    pub(crate) fn split(directory: &'a [(String, usize)], mut bytes: &'a [u8]) -> io::Result<Self> {
        let mut columns = Vec::with_capacity(directory.len());
        for (name, length) in directory {
            let (column, rest) = bytes
                .split_at_checked(*length)
                .ok_or_else(|| invalid(format!("column {name} ends early")))?;
            columns.push((name.as_str(), Column { bytes: column }));
            bytes = rest;
        }
        Ok(Self { columns })
    }

    /// Where a column is.
    pub(crate) fn place(&self, name: &str) -> Place {
        self.columns.iter().position(|c| c.0 == name)
    }

    /// The next value of the column at a place.
    pub(crate) fn next(&mut self, place: Place) -> io::Result<i64> {
        let column = place.and_then(|i| self.columns.get_mut(i));
        let (name, column) = column.ok_or_else(|| invalid("a column is missing"))?;
        column
            .next()
            .ok_or_else(|| invalid(format!("column {name} has no more values")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_any_size_and_sign() {
        let directory = [("a".to_owned(), 5), ("b".to_owned(), 1)];
        let bytes = [0x00, 0x01, 0x02, 0xac, 0x02, 0x7f];
        let mut columns = Columns::split(&directory, &bytes).unwrap();
        let (a, b) = (columns.place("a"), columns.place("b"));
        let values: Vec<i64> = (0..4).map(|_| columns.next(a).unwrap()).collect();
        assert_eq!(values, [0, -1, 1, 150]);
        assert_eq!(columns.next(b).unwrap(), -64);
        let error = columns.next(a).unwrap_err().to_string();
        assert!(error.contains("column a has no more values"), "{error}");
        assert!(columns.place("c").is_none() && columns.next(None).is_err());
    }

    #[test]
    fn a_column_longer_than_the_file_is_refused() {
        let directory = [("a".to_owned(), 5)];
        let error = Columns::split(&directory, &[0; 4]).unwrap_err().to_string();
        assert!(error.contains("column a ends early"), "{error}");
    }
}
