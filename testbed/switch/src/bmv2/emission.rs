// SPDX-License-Identifier: Apache-2.0
//! The deparser's order, laid out at load: which words of the header vector
//! become which bytes of the frame.

use super::ir::Header;

/// Most words of a header that is written word by word.
const MOST_LANES: usize = 64;

/// The upper bytes of a word, once it is shifted left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lane {
    pub slot: u32,
    pub shift: u8,
    pub bytes: u8,
}

/// A header in the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item {
    /// Slot of the validity bit: what is invalid is left out.
    pub valid: u32,
    /// Its lanes.
    first: u32,
    end: u32,
    /// A header without lanes: it is written field by field.
    pub by_field: Option<u32>,
}

#[derive(Debug, Default)]
pub struct Emission {
    pub items: Vec<Item>,
    lanes: Vec<Lane>,
    /// What all lanes write, in bytes.
    bytes: usize,
}

impl Emission {
    /// Appends header number `id` to the order.
    pub fn push(&mut self, id: u32, h: &Header) {
        let first = self.lanes.len() as u32;
        let packed = !h.metadata && (1..=MOST_LANES).contains(&h.word_bytes.len());
        if packed {
            for (slot, n) in (h.words.start as u32..).zip(&h.word_bytes) {
                let bytes = (*n).clamp(1, 8);
                self.bytes += usize::from(bytes);
                self.lanes.push(Lane {
                    slot,
                    shift: 64 - 8 * bytes,
                    bytes,
                });
            }
        }
        self.items.push(Item {
            valid: h.valid,
            first,
            end: self.lanes.len() as u32,
            by_field: (!packed).then_some(id),
        });
    }

    pub fn lanes(&self, i: &Item) -> &[Lane] {
        self.lanes
            .get(i.first as usize..i.end as usize)
            .unwrap_or_default()
    }

    /// A buffer with so many bytes has room for all lanes: each writes eight,
    /// which is cheaper than to copy few.
    pub fn room_bytes(&self) -> usize {
        self.bytes + 8
    }
}

/// Writes the lanes to `out` from byte `at` on; returns where they end.
#[inline(always)]
pub fn write(lanes: &[Lane], words: &[u64], out: &mut [u8], mut at: usize) -> usize {
    for lane in lanes {
        let word = words.get(lane.slot as usize).copied().unwrap_or(0);
        if let Some(b) = out.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
            *b = (word << (lane.shift & 63)).to_be_bytes();
        }
        at += usize::from(lane.bytes);
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(valid: u32, word_bytes: &[u8]) -> Header {
        let first = valid as usize + 1;
        Header {
            name: String::new(),
            type_name: String::new(),
            metadata: false,
            valid,
            fields: Vec::new(),
            words: first..first + word_bytes.len(),
            fixed_bits: word_bytes.iter().map(|b| u32::from(*b) * 8).sum(),
            variable: None,
            word_bytes: word_bytes.to_vec(),
            stack: None,
        }
    }

    #[test]
    fn lanes_follow_each_other() {
        let mut e = Emission::default();
        e.push(4, &header(0, &[6, 8, 1, 4]));
        e.push(5, &header(5, &[2]));
        assert_eq!(e.room_bytes(), 21 + 8);
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
            at = write(e.lanes(i), &words, &mut out, at);
        }
        let want: Vec<u8> = (5..=0x19).collect();
        assert_eq!(out[..at], want);
        // Without room nothing is written.
        let mut short = [0xff; 7];
        write(e.lanes(&e.items[0]), &words, &mut short, 0);
        assert_eq!(short, [0xff; 7]);
    }

    #[test]
    fn others_go_by_field() {
        let mut e = Emission::default();
        e.push(7, &header(0, &[]));
        e.push(8, &header(0, &[8; 65]));
        let ids: Vec<_> = e.items.iter().map(|i| i.by_field).collect();
        assert_eq!(ids, [Some(7), Some(8)]);
        assert!(e.items.iter().all(|i| e.lanes(i).is_empty()));
        assert_eq!(e.room_bytes(), 8);
    }
}
