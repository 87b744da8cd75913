// SPDX-License-Identifier: Apache-2.0
//! Bounds on pages and footers, held before the library makes room for them.

use crate::thrift::{varint, walk};
use parquet::basic::Encoding;
use parquet::column::page::Page;
use parquet::errors::{ParquetError, Result};

/// Of a page, unpacked. Pages of captures have some ten kilobytes, those of DuckDB a hundred
/// megabytes at most.
const MAX_UNPACKED_BYTES: u64 = 256 << 20;
/// Of a page: the library makes room for 4 bytes of each.
const MAX_VALUES: usize = 64 << 20;
/// A row group's description has more.
const LEAST_GROUP_BYTES: i64 = 16;
const INDEX_PAGE: i64 = 1;

/// A page, as it stands in its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageHeader {
    /// Of the header and the page as it is stored.
    pub bytes: usize,
    /// Of the page, unpacked.
    pub unpacked_bytes: usize,
    /// It has no values, and is not given.
    pub is_index: bool,
}

impl PageHeader {
    /// The header that `bytes` begin with.
    ///
    /// # Errors
    /// One that cannot be right, or a page that is too large, with the limit.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        let (mut kind, mut unpacked, mut packed) = (None, None, None);
        let header_bytes = walk(bytes, |path, number| {
            match path {
                [1] => kind = Some(number),
                [2] => unpacked = u64::try_from(number).ok(),
                [3] => packed = usize::try_from(number).ok(),
                _ => {}
            }
            Ok(())
        })?;
        let (Some(kind), Some(unpacked), Some(packed)) = (kind, unpacked, packed) else {
            return Err(general("a page header without a size".to_owned()));
        };
        if unpacked > MAX_UNPACKED_BYTES {
            return Err(general(format!(
                "a page of {unpacked} bytes, unpacked, and {MAX_UNPACKED_BYTES} are the limit"
            )));
        }
        Ok(Self {
            bytes: header_bytes.saturating_add(packed),
            unpacked_bytes: unpacked as usize,
            is_index: kind == INDEX_PAGE,
        })
    }
}

/// Room is made for as many values as a page says it has, of a row group of `rows`.
/// `nullable`: it has levels.
///
/// # Errors
/// More than can be in it, or than the limit.
pub(crate) fn check_values(page: &Page, rows: usize, nullable: bool) -> Result<()> {
    // Each takes at least four bytes.
    let most = match page {
        Page::DictionaryPage { buf, .. } => buf.len() / 4,
        _ => rows,
    };
    let values = page.num_values() as usize;
    if values > most {
        return Err(general(format!("{values} values cannot be in it")));
    }
    if values > MAX_VALUES {
        return Err(general(format!(
            "a page of {values} values, and {MAX_VALUES} are the limit"
        )));
    }
    let text = match page.encoding() {
        Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
        Encoding::DELTA_BYTE_ARRAY => 2,
        _ => return Ok(()),
    };
    // Lengths of texts have a number of their own.
    let mut rest = match page {
        Page::DataPageV2 {
            buf,
            def_levels_byte_len,
            rep_levels_byte_len,
            ..
        } => {
            buf.get((*def_levels_byte_len as usize).saturating_add(*rep_levels_byte_len as usize)..)
        }
        page if nullable => {
            let levels = page.buffer().first_chunk().map(|b| u32::from_le_bytes(*b));
            levels.and_then(|bytes| page.buffer().get(4 + bytes as usize..))
        }
        page => page.buffer().get(..),
    };
    if rest.is_some_and(<[u8]>::is_empty) {
        return Ok(());
    }
    for _ in 0..text {
        let Some((count, behind)) = rest.and_then(numbers_in_blocks) else {
            return Err(general("its lengths cannot be read".to_owned()));
        };
        if count > values as u64 {
            return Err(general(format!("{count} lengths of {values} values")));
        }
        rest = Some(behind);
    }
    Ok(())
}

/// DELTA_BINARY_PACKED: how many numbers there are, and what follows them.
fn numbers_in_blocks(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (block, rest) = varint(bytes)?;
    let (parts, rest) = varint(rest)?;
    let (count, rest) = varint(rest)?;
    let (_first, mut rest) = varint(rest)?;
    let parts = usize::try_from(parts).ok()?;
    let of_part = usize::try_from(block).ok()?.checked_div(parts)?;
    let mut left = usize::try_from(count).ok()?.saturating_sub(1);
    while left > 0 && of_part > 0 {
        let (_least, behind) = varint(rest)?;
        let (widths, behind) = behind.split_at_checked(parts)?;
        rest = behind;
        for &width in widths {
            if left == 0 {
                break;
            }
            rest = rest.get((of_part / 8).checked_mul(width.into())?..)?;
            left = left.saturating_sub(of_part);
        }
    }
    Some((count, rest))
}

/// A file's description.
///
/// # Errors
/// One that the library would make too much room for.
pub(crate) fn check_footer(bytes: &[u8]) -> Result<()> {
    let (mut elements, mut most_children, mut groups) = (0, 0, 0);
    let length = walk(bytes, |path, number| {
        match path {
            [2] => elements = number,
            [2, 5] => most_children = most_children.max(number),
            [4] => groups = number,
            _ => {}
        }
        Ok(())
    })?;
    if most_children > elements || groups.saturating_mul(LEAST_GROUP_BYTES) > length as i64 {
        return Err(general("it has more parts than bytes for them".to_owned()));
    }
    Ok(())
}

fn general(what: String) -> ParquetError {
    ParquetError::General(what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::{delta, zigzag};

    fn header(kind: i64, unpacked: i64, packed: i64) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in [kind, unpacked, packed] {
            bytes.push(0x15);
            zigzag(number, &mut bytes);
        }
        bytes.push(0);
        bytes
    }

    #[test]
    fn pages_that_unpack_to_gigabytes_are_refused() {
        let whole = PageHeader::read(&header(0, 256 << 20, 100)).unwrap();
        assert_eq!((whole.bytes, whole.is_index), (112, false));
        let error = PageHeader::read(&header(0, 2_000_000_000, 9)).unwrap_err();
        assert!(
            error.to_string().contains("268435456 are the limit"),
            "{error}"
        );
        assert!(PageHeader::read(&header(1, 9, 9)).unwrap().is_index);
        for wrong in [header(0, -1, 9), header(0, 9, -9), vec![0]] {
            assert!(PageHeader::read(&wrong).is_err());
        }
    }

    #[test]
    fn lengths_of_texts_are_as_many_as_its_values() {
        let text = |count: u64, values: u32, nullable: bool| {
            let mut buf = if nullable {
                vec![2, 0, 0, 0, 8, 1]
            } else {
                Vec::new()
            };
            delta(&vec![7; count as usize], true, &mut buf);
            delta(&vec![7; count as usize], true, &mut buf);
            let page = Page::DataPage {
                buf: buf.into(),
                num_values: values,
                encoding: Encoding::DELTA_BYTE_ARRAY,
                def_level_encoding: Encoding::RLE,
                rep_level_encoding: Encoding::RLE,
                statistics: None,
            };
            check_values(&page, 1000, nullable)
        };
        for nullable in [false, true] {
            for count in [1, 2, 128, 129, 300] {
                text(count, count as u32, nullable).unwrap();
                assert!(text(count + 1, count as u32, nullable).is_err());
            }
        }
        assert!(text(1001, 1001, false).is_err());
    }

    #[test]
    fn a_footer_has_bytes_for_its_parts() {
        // Two elements of the schema, of which the first has so many children; no row groups.
        let of = |children| {
            let mut bytes = vec![0x29, 0x2c, 0x55];
            zigzag(children, &mut bytes);
            bytes.extend([0, 0x15, 2, 0, 0x29, 0x0c, 0]);
            check_footer(&bytes)
        };
        assert!(of(1).is_ok());
        assert!(of(i64::from(i32::MAX)).is_err());
        let groups = [&[0x49, 0xfc, 100][..], &[0; 101]].concat();
        assert!(check_footer(&groups).is_err());
    }
}
