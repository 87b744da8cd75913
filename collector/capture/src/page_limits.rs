// SPDX-License-Identifier: Apache-2.0
//! Bounds on what a page may unpack to, held before the library makes room for it.

use parquet::basic::Compression;
use parquet::errors::{ParquetError, Result};

/// Of a page, unpacked. Pages of captures have some ten kilobytes, those of DuckDB a hundred
/// megabytes at most.
const MAX_UNPACKED_BYTES: u64 = 256 << 20;
/// Of a page in a form that the library unpacks to its end, whatever its header says: gzip
/// makes up to a thousand bytes of one.
const MAX_OPEN_ENDED_BYTES: u64 = 2 << 20;
/// A field of 32 bits that follows the one before it, in Thrift's compact protocol.
const NEXT_I32: u8 = 0x15;

/// Checks the header at the start of `bytes`: type and both sizes are its first fields. Any
/// other form of it is the library's to refuse.
///
/// # Errors
/// A page that is too large, with the limit.
pub(crate) fn check(bytes: &[u8], compression: Compression) -> Result<()> {
    let mut rest = bytes;
    let Some([_, unpacked, packed]) = [(); 3]
        .map(|()| field(&mut rest))
        .into_iter()
        .collect::<Option<Vec<u64>>>()
        .and_then(|fields| <[u64; 3]>::try_from(fields).ok())
    else {
        return Ok(());
    };
    if unpacked > MAX_UNPACKED_BYTES {
        return Err(ParquetError::General(format!(
            "a page of {unpacked} bytes, unpacked, and {MAX_UNPACKED_BYTES} are the limit"
        )));
    }
    let open_ended = matches!(compression, Compression::GZIP(_) | Compression::LZ4);
    if open_ended && packed > MAX_OPEN_ENDED_BYTES {
        return Err(ParquetError::General(format!(
            "a page of {packed} bytes packed with gzip or lz4, and {MAX_OPEN_ENDED_BYTES} are \
             the limit: write it with snappy or zstd"
        )));
    }
    Ok(())
}

/// The next field, where it is a number that is not negative.
fn field(bytes: &mut &[u8]) -> Option<u64> {
    let (kind, rest) = bytes.split_first()?;
    if *kind != NEXT_I32 {
        return None;
    }
    let mut zigzag = 0u64;
    for (place, &byte) in rest.iter().enumerate().take(9) {
        zigzag |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            *bytes = rest.get(place + 1..)?;
            return (zigzag & 1 == 0).then_some(zigzag >> 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::zigzag;

    fn header(unpacked: i64, packed: i64) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in [0, unpacked, packed] {
            bytes.push(NEXT_I32);
            zigzag(number, &mut bytes);
        }
        bytes
    }

    #[test]
    fn pages_that_unpack_to_gigabytes_are_refused() {
        let snappy = |unpacked| check(&header(unpacked, 100), Compression::SNAPPY);
        assert!(snappy(256 << 20).is_ok());
        let error = snappy(2_000_000_000).unwrap_err().to_string();
        assert!(error.contains("268435456 are the limit"), "{error}");
        let packed = header(1000, 3 << 20);
        assert!(check(&packed, Compression::SNAPPY).is_ok());
        for open_ended in [Compression::LZ4, Compression::GZIP(Default::default())] {
            let error = check(&packed, open_ended).unwrap_err().to_string();
            assert!(error.contains("2097152 are the limit"), "{error}");
        }
        for cut in 0..packed.len() {
            let _ = check(&packed[..cut], Compression::SNAPPY);
        }
    }
}
