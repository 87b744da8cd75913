// SPDX-License-Identifier: Apache-2.0
//! Limits on pages and footers, checked before the library allocates memory for them.

use crate::thrift::{varint, walk};
use parquet::basic::Encoding;
use parquet::column::page::Page;
use parquet::errors::{ParquetError, Result};

/// Largest uncompressed page. Pages of captures have tens of kilobytes, pages of DuckDB at most
/// a hundred megabytes.
const MAX_UNPACKED_BYTES: u64 = 256 << 20;
/// Most values of a page: the library allocates 4 bytes for each.
const MAX_VALUES: usize = 64 << 20;
/// Lower bound of the size of a row group's metadata.
const LEAST_GROUP_BYTES: i64 = 16;
const INDEX_PAGE: i64 = 1;

/// Properties of a page, from its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageHeader {
    /// Size of the header and the stored page.
    pub bytes: usize,
    /// Uncompressed size of the page.
    pub unpacked_bytes: usize,
    /// Whether it is an index page, which has no values and is not returned.
    pub is_index: bool,
}

impl PageHeader {
    /// Reads the header at the start of `bytes`.
    ///
    /// # Errors
    /// The header is invalid, or the page is larger than the limit, which is named.
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
            return Err(general("a page header has no size".to_owned()));
        };
        if unpacked > MAX_UNPACKED_BYTES {
            return Err(general(format!(
                "a page has {unpacked} bytes uncompressed; {MAX_UNPACKED_BYTES} are the limit"
            )));
        }
        Ok(Self {
            bytes: header_bytes.saturating_add(packed),
            unpacked_bytes: unpacked as usize,
            is_index: kind == INDEX_PAGE,
        })
    }
}

/// Checks the number of values that a page claims to have, for which the library allocates
/// memory. `rows`: rows of the row group; `nullable`: the page has levels.
///
/// # Errors
/// The page claims more values than it can hold, or than the limit.
pub(crate) fn check_values(page: &Page, rows: usize, nullable: bool) -> Result<()> {
    // Each value takes at least four bytes.
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
            "a page has {values} values; {MAX_VALUES} are the limit"
        )));
    }
    let text = match page.encoding() {
        Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
        Encoding::DELTA_BYTE_ARRAY => 2,
        _ => return Ok(()),
    };
    // The lengths of texts have a count of their own.
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
            return Err(general(format!("{count} lengths for {values} values")));
        }
        rest = Some(behind);
    }
    Ok(())
}

/// Returns the count of a DELTA_BINARY_PACKED block, and the bytes after the block.
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

/// Checks a file's metadata.
///
/// # Errors
/// The library would allocate too much memory for the metadata.
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
        // Two schema elements, the first with this many children; no row groups.
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
