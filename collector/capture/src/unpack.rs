// SPDX-License-Identifier: Apache-2.0
//! Decompresses pages with gzip or lz4. The library would decompress them to their end, whatever
//! size their header states; here decompression stops at that size.

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use lz4_flex::block::decompress_into;
use lz4_flex::frame::FrameDecoder;
use parquet::basic::Compression;
use parquet::column::page::Page;
use parquet::errors::{ParquetError, Result};
use std::io::Read;

/// Codecs that [`Codec::page`] decompresses; the library limits all other codecs itself.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Codec {
    Gzip,
    /// Hadoop's format; older writers used the name for frames or a bare block.
    Lz4,
}

impl Codec {
    pub(crate) fn of(compression: Compression) -> Option<Self> {
        match compression {
            Compression::GZIP(_) => Some(Self::Gzip),
            Compression::LZ4 => Some(Self::Lz4),
            _ => None,
        }
    }

    /// Decompresses a page to the size that its header states.
    ///
    /// # Errors
    /// The page decompresses to another size, or cannot be decompressed.
    pub(crate) fn page(self, mut page: Page, unpacked_bytes: usize) -> Result<Page> {
        let (buf, levels) = match &mut page {
            Page::DictionaryPage { buf, .. } | Page::DataPage { buf, .. } => (buf, 0),
            Page::DataPageV2 {
                is_compressed: false,
                ..
            } => return Ok(page),
            Page::DataPageV2 {
                buf,
                def_levels_byte_len,
                rep_levels_byte_len,
                ..
            } => {
                let levels =
                    (*def_levels_byte_len as usize).checked_add(*rep_levels_byte_len as usize);
                (buf, levels.unwrap_or(usize::MAX))
            }
        };
        let (Some((levels, packed)), Some(room)) = (
            buf.split_at_checked(levels),
            unpacked_bytes.checked_sub(levels),
        ) else {
            return Err(general("its levels are longer than the page"));
        };
        let mut unpacked = Vec::with_capacity(unpacked_bytes);
        unpacked.extend_from_slice(levels);
        // A page without values has nothing to decompress.
        if room > 0 {
            self.unpack(packed, room, &mut unpacked)?;
        }
        *buf = Bytes::from(unpacked);
        Ok(page)
    }

    fn unpack(self, packed: &[u8], room: usize, to: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Gzip => streamed(MultiGzDecoder::new(packed), room, to),
            Self::Lz4 => {
                let start = to.len();
                hadoop(packed, room, to)
                    .or_else(|_| {
                        to.truncate(start);
                        streamed(FrameDecoder::new(packed), room, to)
                    })
                    .or_else(|_| {
                        to.truncate(start);
                        block(packed, room, to)
                    })
            }
        }
    }
}

/// Reads exactly `room` bytes.
fn streamed(from: impl Read, room: usize, to: &mut Vec<u8>) -> Result<()> {
    let read = from.take(room as u64 + 1).read_to_end(to)?;
    match read == room {
        true => Ok(()),
        false => Err(general("it unpacks to another size than its header says")),
    }
}

fn block(packed: &[u8], room: usize, to: &mut Vec<u8>) -> Result<()> {
    let start = to.len();
    to.resize(start + room, 0);
    let place = to.get_mut(start..).unwrap_or_default();
    match decompress_into(packed, place) {
        Ok(bytes) if bytes == room => Ok(()),
        _ => Err(general(
            "it cannot be unpacked by lz4 to the size that its header says",
        )),
    }
}

/// Decompresses blocks, each preceded by its uncompressed and compressed size.
fn hadoop(mut packed: &[u8], mut room: usize, to: &mut Vec<u8>) -> Result<()> {
    while let Some((sizes, rest)) = packed.split_first_chunk::<8>() {
        let [a, b, c, d, e, f, g, h] = *sizes;
        let unpacked = u32::from_be_bytes([a, b, c, d]) as usize;
        let (body, rest) = rest
            .split_at_checked(u32::from_be_bytes([e, f, g, h]) as usize)
            .ok_or_else(|| general("an lz4 block reaches beyond its page"))?;
        room = room
            .checked_sub(unpacked)
            .ok_or_else(|| general("lz4 blocks unpack to more than the header says"))?;
        block(body, unpacked, to)?;
        packed = rest;
    }
    match (room, packed) {
        (0, []) => Ok(()),
        _ => Err(general("lz4 blocks unpack to less than the header says")),
    }
}

fn general(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::basic::Encoding;
    use std::io::Write as _;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        to.write_all(bytes).unwrap();
        to.finish().unwrap()
    }

    fn frame(bytes: &[u8]) -> Vec<u8> {
        let mut to = lz4_flex::frame::FrameEncoder::new(Vec::new());
        to.write_all(bytes).unwrap();
        to.finish().unwrap()
    }

    fn blocks(bytes: &[u8]) -> Vec<u8> {
        let pack = |part: &[u8]| {
            let packed = lz4_flex::block::compress(part);
            let sizes = [part.len() as u32, packed.len() as u32].map(u32::to_be_bytes);
            [sizes.concat(), packed].concat()
        };
        let (first, second) = bytes.split_at(bytes.len() / 3);
        [pack(first), pack(second)].concat()
    }

    fn page(levels: &[u8], packed: &[u8]) -> Page {
        Page::DataPageV2 {
            buf: [levels, packed].concat().into(),
            num_values: 1,
            encoding: Encoding::PLAIN,
            num_nulls: 0,
            num_rows: 1,
            def_levels_byte_len: levels.len() as u32,
            rep_levels_byte_len: 0,
            is_compressed: true,
            statistics: None,
        }
    }

    #[test]
    fn a_page_unpacks_to_its_size_and_no_further() {
        let body: Vec<u8> = (0..100_000u32).map(|n| (n / 100) as u8).collect();
        for (codec, packed) in [
            (Codec::Gzip, gzip(&body)),
            (Codec::Lz4, frame(&body)),
            (Codec::Lz4, blocks(&body)),
            (Codec::Lz4, lz4_flex::block::compress(&body)),
        ] {
            let unpack = |bytes| codec.page(page(&[1, 2], &packed), bytes);
            let whole = unpack(body.len() + 2).unwrap();
            assert_eq!(whole.buffer()[..2], [1, 2]);
            assert_eq!(whole.buffer()[2..], body);
            for wrong in [0, 1, 3, body.len() + 1, body.len() + 3] {
                assert!(unpack(wrong).is_err(), "{codec:?} {wrong}");
            }
            for cut in [0, 1, 9, packed.len() / 2, packed.len() - 1] {
                // A frame may lack only its end mark.
                let cut = codec.page(page(&[], &packed[..cut]), body.len());
                assert!(cut.as_ref().is_err() || cut.unwrap().buffer()[..] == body);
            }
        }
    }
}
