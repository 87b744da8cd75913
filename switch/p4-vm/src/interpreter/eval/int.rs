// SPDX-License-Identifier: Apache-2.0
//! Arithmetic in wrapping words of 64 and 128 bits.

use crate::layout::shape::read;
use crate::vector::word;
use p4_ir::bits::sign_extend64;
use p4_ir::{FieldRef, WrapOp};

pub(super) trait Int: Copy + PartialEq + PartialOrd + From<bool> {
    fn constant(v: i64) -> Self;
    fn big(low: i128) -> Self;
    fn read(words: &[u64], f: FieldRef) -> Self;
    fn add(self, o: Self) -> Self;
    fn sub(self, o: Self) -> Self;
    fn mul(self, o: Self) -> Self;
    fn div(self, o: Self) -> Self;
    fn rem(self, o: Self) -> Self;
    fn and(self, o: Self) -> Self;
    fn or(self, o: Self) -> Self;
    fn xor(self, o: Self) -> Self;
    fn not(self) -> Self;
    fn shl(self, by: Self) -> Self;
    fn shr(self, by: Self) -> Self;
    fn wrap(self, op: WrapOp, width: u32) -> Self;
    fn index(self) -> usize;
}

macro_rules! int {
    ($t:ty, $read:expr) => {
        impl Int for $t {
            #[inline(always)]
            fn constant(v: i64) -> Self {
                v as Self
            }
            #[inline(always)]
            fn big(low: i128) -> Self {
                low as Self
            }
            #[inline(always)]
            fn read(words: &[u64], f: FieldRef) -> Self {
                $read(words, f)
            }
            #[inline(always)]
            fn add(self, o: Self) -> Self {
                self.wrapping_add(o)
            }
            #[inline(always)]
            fn sub(self, o: Self) -> Self {
                self.wrapping_sub(o)
            }
            #[inline(always)]
            fn mul(self, o: Self) -> Self {
                self.wrapping_mul(o)
            }
            fn div(self, o: Self) -> Self {
                self.checked_div(o).unwrap_or(0)
            }
            fn rem(self, o: Self) -> Self {
                self.checked_rem(o).unwrap_or(0)
            }
            #[inline(always)]
            fn and(self, o: Self) -> Self {
                self & o
            }
            #[inline(always)]
            fn or(self, o: Self) -> Self {
                self | o
            }
            #[inline(always)]
            fn xor(self, o: Self) -> Self {
                self ^ o
            }
            #[inline(always)]
            fn not(self) -> Self {
                !self
            }
            fn shl(self, by: Self) -> Self {
                u32::try_from(by)
                    .ok()
                    .and_then(|n| self.checked_shl(n))
                    .unwrap_or(0)
            }
            fn shr(self, by: Self) -> Self {
                if by < 0 {
                    return 0;
                }
                let n = u32::try_from(by).unwrap_or(u32::MAX).min(Self::BITS - 1);
                self >> n
            }
            fn wrap(self, op: WrapOp, width: u32) -> Self {
                match op {
                    WrapOp::TwosComplement => {
                        let s = Self::BITS.saturating_sub(width);
                        if s == Self::BITS { 0 } else { (self << s) >> s }
                    }
                    WrapOp::SaturateUnsigned => {
                        let max = ((1 as $t) << width.min(Self::BITS - 1)).wrapping_sub(1);
                        self.clamp(0, max)
                    }
                    WrapOp::SaturateSigned => {
                        let half = (1 as $t) << (width.max(1) - 1).min(Self::BITS - 2);
                        self.clamp(-half, half - 1)
                    }
                }
            }
            fn index(self) -> usize {
                usize::try_from(self).unwrap_or(usize::MAX)
            }
        }
    };
}

fn read_i128(words: &[u64], f: FieldRef) -> i128 {
    if f.width <= 64 {
        let v = f.get(words);
        return if f.signed {
            i128::from(sign_extend64(v, f.width))
        } else {
            i128::from(v)
        };
    }
    let v = (u128::from(word(words, f.slot)) << 64) | u128::from(word(words, f.slot + 1));
    if f.signed {
        (v as i128) << (128 - f.width) >> (128 - f.width)
    } else {
        v as i128
    }
}

int!(i64, read);
int!(i128, read_i128);
