// SPDX-License-Identifier: Apache-2.0
//! Copy propagation: p4c copies many fields into temporaries, and what reads the
//! temporary can read the original.

use p4_ir::Bits;

#[derive(Default)]
pub(super) struct Copies {
    /// The copy, and what it is a copy of.
    list: Vec<(Bits, Bits)>,
}

fn bits(b: Bits) -> u64 {
    b.mask << (b.shift & 63)
}

impl Copies {
    /// Bits of the same value as `b`, from where they were copied.
    pub(super) fn origin(&self, b: Bits) -> Bits {
        let copied = self.list.iter().find(|(copy, _)| {
            copy.slot == b.slot && copy.shift <= b.shift && bits(b) & !bits(*copy) == 0
        });
        let Some((copy, of)) = copied else { return b };
        let up = b.shift - copy.shift;
        Bits {
            slot: of.slot,
            // If this is beyond the word, the mask is empty.
            shift: (of.shift + up) % 64,
            mask: (of.mask >> up) & b.mask,
        }
    }

    /// From now on, as long as neither is written.
    pub(super) fn learn(&mut self, copy: Bits, of: Bits) {
        if copy.slot != of.slot {
            self.list.push((copy, of));
        }
    }

    /// These bits of the word are written.
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
        // More than the copy, or another word.
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
        // A field is no copy of its own word: it changes with it.
        let mut c = Copies::default();
        c.learn(copy, field(5, 8, 8));
        assert_eq!(c.origin(copy), copy);
    }
}
