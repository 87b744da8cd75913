// SPDX-License-Identifier: Apache-2.0
//! Checks Thrift's compact protocol before the library reads it, because the library allocates
//! memory for as many bytes and elements as a length claims.

use parquet::errors::{ParquetError, Result};

/// Deepest nesting of structs in structs and lists.
const MAX_DEPTH: usize = 16;

/// Field numbers from the outermost struct down; elements of a list have the list's path.
pub(crate) type Path = [i16];

/// Walks the struct at the start of `bytes`; returns the struct's size. `visit` gets its
/// numbers, booleans and list lengths.
///
/// # Errors
/// There is no struct, or it ends within a field, or `visit` failed.
pub(crate) fn walk(bytes: &[u8], mut visit: impl FnMut(&Path, i64) -> Result<()>) -> Result<usize> {
    let mut walk = Walk {
        rest: bytes,
        path: Vec::with_capacity(MAX_DEPTH),
        visit: &mut visit,
    };
    walk.structure()?;
    Ok(bytes.len() - walk.rest.len())
}

struct Walk<'a, F> {
    rest: &'a [u8],
    path: Vec<i16>,
    visit: &'a mut F,
}

impl<F: FnMut(&Path, i64) -> Result<()>> Walk<'_, F> {
    fn structure(&mut self) -> Result<()> {
        if self.path.len() >= MAX_DEPTH {
            return Err(wrong());
        }
        let mut field = 0i16;
        loop {
            let first = self.byte()?;
            if first == 0 {
                return Ok(());
            }
            // The field number is relative to the previous field.
            field = match first >> 4 {
                0 => i16::try_from(unzigzag(self.varint()?)).map_err(|_| wrong())?,
                more => field.checked_add(i16::from(more)).ok_or_else(wrong)?,
            };
            self.path.push(field);
            match first & 15 {
                // Booleans of a struct have no bytes.
                kind @ (1 | 2) => (self.visit)(&self.path, i64::from(kind == 1))?,
                kind => self.value(kind)?,
            }
            self.path.pop();
        }
    }

    fn value(&mut self, kind: u8) -> Result<()> {
        match kind {
            1..=3 => self.skip(1),
            4..=6 => {
                let number = unzigzag(self.varint()?);
                (self.visit)(&self.path, number)
            }
            7 => self.skip(8),
            8 => {
                let length = self.varint()?;
                self.skip(length)
            }
            9 | 10 => self.list(),
            12 => self.structure(),
            // Parquet has no maps.
            _ => Err(wrong()),
        }
    }

    fn list(&mut self) -> Result<()> {
        let first = self.byte()?;
        let elements = match first >> 4 {
            15 => self.varint()?,
            few => u64::from(few),
        };
        // Each element takes at least one byte.
        if elements > self.rest.len() as u64 {
            return Err(wrong());
        }
        (self.visit)(&self.path, elements as i64)?;
        (0..elements).try_for_each(|_| self.value(first & 15))
    }

    fn byte(&mut self) -> Result<u8> {
        let (&first, rest) = self.rest.split_first().ok_or_else(wrong)?;
        self.rest = rest;
        Ok(first)
    }

    fn skip(&mut self, bytes: u64) -> Result<()> {
        let bytes = usize::try_from(bytes).map_err(|_| wrong())?;
        self.rest = self.rest.get(bytes..).ok_or_else(wrong)?;
        Ok(())
    }

    fn varint(&mut self) -> Result<u64> {
        let (number, rest) = varint(self.rest).ok_or_else(wrong)?;
        self.rest = rest;
        Ok(number)
    }
}

/// Reads a varint (7 bits per byte, low bits first); also returns the bytes after it.
pub(crate) fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0;
    for (place, &byte) in bytes.iter().enumerate().take(10) {
        number |= u64::from(byte & 0x7f).checked_shl(7 * place as u32)?;
        if byte & 0x80 == 0 {
            return Some((number, bytes.get(place + 1..)?));
        }
    }
    None
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

fn wrong() -> ParquetError {
    ParquetError::General("its description ends within a field, or is not a description".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers with their paths.
    type Numbers = Vec<(Vec<i16>, i64)>;

    fn numbers(bytes: &[u8]) -> Result<(usize, Numbers)> {
        let mut all = Vec::new();
        let length = walk(bytes, |path, number| {
            all.push((path.to_vec(), number));
            Ok(())
        })?;
        Ok((length, all))
    }

    #[test]
    fn numbers_of_nested_fields_have_their_path() {
        let bytes = [
            0x15, 3, // 1: -2
            0x28, 2, b'a', b'b', // 3: text
            0x19, 0x2c, 0x15, 8, 0, 0x11, 0, // 4: two structs: 1: 4; 1: true
            0x05, 0x80, 1, 0xac, 2, // 64: 150
            0x47, 0, 0, 0, 0, 0, 0, 0, 0, // 68: floating point
            0, 99,
        ];
        let expected = [
            (vec![1], -2),
            (vec![4], 2),
            (vec![4, 1], 4),
            (vec![4, 1], 1),
            (vec![64], 150),
        ];
        assert_eq!(
            numbers(&bytes).unwrap(),
            (bytes.len() - 1, expected.to_vec())
        );
        for cut in 0..bytes.len() - 1 {
            assert!(numbers(&bytes[..cut]).is_err(), "{cut}");
        }
    }

    #[test]
    fn lengths_beyond_the_end_and_depths_are_refused() {
        // Text of 2^62 bytes, then a list of 2^62 elements, then endlessly nested structs.
        let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f];
        assert!(numbers(&[&[0x18][..], &huge, &[0; 9]].concat()).is_err());
        assert!(numbers(&[&[0x19, 0xf5][..], &huge, &[0; 9]].concat()).is_err());
        assert!(numbers(&[0x1c; 1000]).is_err());
        assert!(varint(&[0x80; 20]).is_none());
    }
}
