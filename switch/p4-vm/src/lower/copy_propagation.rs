// SPDX-License-Identifier: Apache-2.0
//! Copy propagation: p4c copies many fields into temporaries; code that reads the temporary
//! can read the original instead.

use p4_ir::Bits;

#[derive(Default)]
pub(super) struct Copies {
    /// Pairs of a copy and its original.
    list: Vec<(Bits, Bits)>,
}

fn bits(b: Bits) -> u64 {
    b.mask << (b.shift & 63)
}

impl Copies {
    /// Returns the bits from which `b` was copied, or `b` itself.
    pub(super) fn origin(&self, b: Bits) -> Bits {
        let copied = self.list.iter().find(|(copy, _)| {
            copy.slot == b.slot && copy.shift <= b.shift && bits(b) & !bits(*copy) == 0
        });
        let Some((copy, of)) = copied else { return b };
        let up = b.shift - copy.shift;
        Bits {
            slot: of.slot,
            // If the shift exceeds the word, the mask is empty.
            shift: (of.shift + up) % 64,
            mask: (of.mask >> up) & b.mask,
        }
    }

    /// Records a copy; valid until either side is written.
    pub(super) fn learn(&mut self, copy: Bits, of: Bits) {
        if copy.slot != of.slot {
            self.list.push((copy, of));
        }
    }

    /// Forgets copies that involve these bits of the word, which are written.
    pub(super) fn forget(&mut self, slot: u32, written: u64) {
        let hit = |b: Bits| b.slot == slot && bits(b) & written != 0;
        self.list.retain(|(copy, of)| !hit(*copy) && !hit(*of));
    }

    pub(super) fn clear(&mut self) {
        self.list.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(slot: u32, shift: u8, width: u32) -> Bits {
        Bits {
            slot,
            shift,
            mask: p4_ir::bits::mask64(width),
        }
    }

    #[test]
    fn a_part_of_a_copy_is_read_from_the_original() {
        let mut c = Copies::default();
        c.learn(field(5, 8, 32), field(9, 48, 16));
        assert_eq!(c.origin(field(5, 8, 32)), field(9, 48, 16));
        assert_eq!(c.origin(field(5, 16, 4)), field(9, 56, 4));
        assert_eq!(c.origin(field(5, 30, 4)).mask, 0);
        // More bits than the copy has, or another word.
        assert_eq!(c.origin(field(5, 7, 8)), field(5, 7, 8));
        assert_eq!(c.origin(field(5, 36, 8)), field(5, 36, 8));
        assert_eq!(c.origin(field(4, 8, 8)), field(4, 8, 8));
    }

    #[test]
    fn what_is_written_is_forgotten() {
        let copy = field(5, 0, 8);
        for (slot, written, kept) in [
            (5, 1, false),
            (9, 2, false),
            (5, 0x100, true),
            (9, 0x100, true),
            (6, u64::MAX, true),
        ] {
            let mut c = Copies::default();
            c.learn(copy, field(9, 0, 8));
            c.forget(slot, written);
            assert_eq!(c.origin(copy).slot == 9, kept, "{slot} {written:x}");
        }
        // A field is not a copy of bits in its own word: the word changes with it.
        let mut c = Copies::default();
        c.learn(copy, field(5, 8, 8));
        assert_eq!(c.origin(copy), copy);
    }
}
