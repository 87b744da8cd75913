// SPDX-License-Identifier: Apache-2.0
//! Layout of the deparser: which words of the header vector go to which bytes of the
//! frame.

use p4_ir::Header;

/// Most words of a header that is written word by word.
const MOST: usize = 8;
/// Bytes in which such a header is written: each word is stored as eight bytes, which is
/// cheaper than copying fewer.
const WINDOW: usize = MOST * 8 + 8;

/// A header in deparser order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Item {
    /// Slot of the validity bit: an invalid header is skipped.
    pub valid: u32,
    first: u32,
    count: u32,
    lanes: [Lane; MOST],
    /// Number of a header that is written field by field instead of by its words.
    pub by_field: Option<u32>,
}

/// Number of bytes of a word to write, and the shift that moves them to the top.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Lane {
    shift: u8,
    bytes: u8,
}

#[derive(Debug, Default)]
pub(crate) struct DeparserLayout {
    pub items: Vec<Item>,
    /// Total bytes of all words.
    bytes: usize,
}

impl DeparserLayout {
    /// `order` holds the numbers of the headers.
    pub(crate) fn new(order: &[u32], headers: &[Header]) -> Self {
        let mut layout = Self::default();
        for id in order {
            if let Some(h) = headers.get(*id as usize) {
                layout.push(*id, h);
            }
        }
        layout
    }

    fn push(&mut self, id: u32, h: &Header) {
        let mut lanes = [Lane::default(); MOST];
        let count = h.word_bytes.len();
        let packed = !h.metadata && (1..=MOST).contains(&count);
        if packed {
            for (lane, n) in lanes.iter_mut().zip(&h.word_bytes) {
                let bytes = (*n).clamp(1, 8);
                self.bytes += usize::from(bytes);
                *lane = Lane {
                    shift: 64 - 8 * bytes,
                    bytes,
                };
            }
        }
        self.items.push(Item {
            valid: h.valid,
            first: h.words.start as u32,
            lanes,
            count: if packed { count as u32 } else { 0 },
            by_field: (!packed).then_some(id),
        });
    }

    /// Returns the size of a buffer with room for all words.
    pub(crate) fn room_bytes(&self) -> usize {
        self.bytes + WINDOW
    }
}

/// Writes the headers to `out` from byte `at` on, up to one that is written field by field.
/// Returns the remaining items, that header, and the end of the written headers.
///
/// Not inlined, so that the loop's variables stay in registers.
#[inline(never)]
pub(crate) fn write<'a>(
    items: &'a [Item],
    words: &[u64],
    out: &mut [u8],
    mut at: usize,
) -> (&'a [Item], Option<u32>, usize) {
    let mut rest = items.iter();
    while let Some(i) = rest.next() {
        if words.get(i.valid as usize).is_none_or(|v| *v == 0) {
            continue;
        }
        at = i.write(words, out, at);
        if i.by_field.is_some() {
            return (rest.as_slice(), i.by_field, at);
        }
    }
    (&[], None, at)
}

impl Item {
    /// Writes the words to `out` from byte `at` on; returns their end.
    #[inline(always)]
    fn write(&self, words: &[u64], out: &mut [u8], at: usize) -> usize {
        let first = self.first as usize;
        let words = words.get(first..first + self.count as usize);
        let window = out.get_mut(at..).and_then(<[u8]>::first_chunk_mut);
        let (Some(words), Some(window)) = (words, window) else {
            return at;
        };
        let window: &mut [u8; WINDOW] = window;
        let mut end = 0;
        for (word, lane) in words.iter().zip(&self.lanes) {
            // All words but the last end below this.
            let eight = window[end % (MOST * 8)..].first_chunk_mut();
            if let Some(b) = eight {
                *b = (word << (lane.shift & 63)).to_be_bytes();
            }
            end += usize::from(lane.bytes);
        }
        at + end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(valid: u32, word_bytes: &[u8]) -> Header {
        let first = valid as usize + 1;
        Header {
            valid,
            words: first..first + word_bytes.len(),
            fixed_bits: word_bytes.iter().map(|b| u32::from(*b) * 8).sum(),
            word_bytes: word_bytes.to_vec(),
            ..Header::default()
        }
    }

    #[test]
    fn words_follow_each_other() {
        let mut e = DeparserLayout::default();
        e.push(4, &header(0, &[6, 8, 1, 4]));
        e.push(5, &header(5, &[2]));
        assert_eq!(e.room_bytes(), 21 + WINDOW);
        let words = [
            1,
            0x0506_0708_090a,
            0x0b0c_0d0e_0f10_1112,
            0x13,
            0x1415_1617,
            1,
            0x1819,
        ];
        let mut out = vec![0xff; e.room_bytes()];
        let mut at = 0;
        for i in &e.items {
            assert_eq!(i.by_field, None);
            at = i.write(&words, &mut out, at);
        }
        let want: Vec<u8> = (5..=0x19).collect();
        assert_eq!(out[..at], want);
        // Nothing is written if there is no room.
        let mut short = [0xff; WINDOW - 1];
        e.items[0].write(&words, &mut short, 0);
        assert_eq!(short, [0xff; WINDOW - 1]);
    }

    #[test]
    fn others_go_by_field() {
        let mut e = DeparserLayout::default();
        e.push(7, &header(0, &[]));
        e.push(8, &header(0, &[8; 9]));
        let ids: Vec<_> = e.items.iter().map(|i| i.by_field).collect();
        assert_eq!(ids, [Some(7), Some(8)]);
        assert!(e.items.iter().all(|i| i.write(&[1; 12], &mut [], 3) == 3));
        assert_eq!(e.room_bytes(), WINDOW);
    }
}
