// SPDX-License-Identifier: Apache-2.0
//! Headers that consist of words of whole bytes, as the parser reads them.

use p4_ir::Header;

/// Most words of a header that is read by words.
const MOST: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeaderWords {
    /// Slot of the validity bit.
    pub valid: u32,
    first: u32,
    count: u8,
    /// Length in the packet.
    pub bytes: u16,
    /// 64 minus the number of bits, for each word.
    shifts: [u8; MOST],
}

impl HeaderWords {
    /// `None` for a header that is large or has to be read field by field.
    pub(crate) fn new(h: &Header) -> Option<Self> {
        let mut shifts = [0; MOST];
        let list = shifts.get_mut(..h.word_bytes.len())?;
        // A member of a union makes other members invalid.
        if h.metadata || list.is_empty() || !h.rivals.is_empty() {
            return None;
        }
        for (s, n) in list.iter_mut().zip(&h.word_bytes) {
            *s = 64 - 8 * (*n).clamp(1, 8);
        }
        Some(Self {
            valid: h.valid,
            first: h.words.start as u32,
            count: h.word_bytes.len() as u8,
            bytes: u16::try_from(h.fixed_bits / 8).ok()?,
            shifts,
        })
    }

    fn shifts(&self) -> &[u8] {
        self.shifts.get(..usize::from(self.count)).unwrap_or(&[])
    }

    /// Reads the header from the packet, which holds all of its bytes from `at` on.
    #[inline]
    pub(crate) fn read(&self, words: &mut [u64], data: &[u8], mut at: usize) {
        let Some(list) = words.get_mut(self.first as usize..) else {
            return;
        };
        for (w, shift) in list.iter_mut().zip(self.shifts()) {
            let shift = u32::from(shift & 63);
            let eight = data.get(at..at + 8).and_then(|b| b.try_into().ok());
            *w = match eight {
                Some(b) => u64::from_be_bytes(b) >> shift,
                None => p4_ir::bits::read64(data, at * 8, 64 - shift),
            };
            at += 8 - shift as usize / 8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(word_bytes: &[u8]) -> Header {
        let bytes: u32 = word_bytes.iter().map(|b| u32::from(*b)).sum();
        Header {
            words: 1..1 + word_bytes.len(),
            fixed_bits: bytes * 8,
            word_bytes: word_bytes.to_vec(),
            ..Header::default()
        }
    }

    #[test]
    fn reads_words_of_any_length_up_to_the_end() {
        let data: Vec<u8> = (1..=23).collect();
        let p = HeaderWords::new(&header(&[6, 8, 1, 4])).unwrap();
        assert_eq!(p.bytes, 19);
        let mut words = [0; 5];
        p.read(&mut words, &data, 4);
        let want = [0x0506_0708_090a, 0x0b0c_0d0e_0f10_1112, 0x13, 0x1415_1617];
        assert_eq!(words[1..], want);
    }

    #[test]
    fn what_cannot_be_packed() {
        assert_eq!(HeaderWords::new(&header(&[])), None);
        assert_eq!(HeaderWords::new(&header(&[8; 9])), None);
    }
}
