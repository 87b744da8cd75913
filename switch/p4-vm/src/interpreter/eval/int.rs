// SPDX-License-Identifier: Apache-2.0
//! Integers in which expressions are computed: wrapping words of 64 and 128 bits, and
//! unbounded integers.

use std::num::Wrapping;
use std::ops::{Add, BitAnd, BitOr, BitXor, Mul, Not, Sub};

use num_bigint::{BigInt, Sign};
use num_traits::{ToPrimitive, Zero};

use crate::layout::shape::read;
use crate::vector::{own_words, word};
use p4_ir::bits::{big_from_words, sign_extend64};
use p4_ir::{BigConst, FieldRef, WrapOp};

/// Largest left shift of unbounded integers: beyond every width.
const MAX_SHIFT: usize = 1 << 17;

pub(super) trait Int:
    Clone
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
{
    fn constant(v: i64) -> Self;
    fn big(c: &BigConst) -> Self;
    fn read(words: &[u64], f: FieldRef) -> Self;
    /// Returns 0 if `o` is 0; so does the remainder.
    fn quotient(self, o: Self) -> Self;
    fn remainder(self, o: Self) -> Self;
    fn shift_left(self, by: Self) -> Self;
    fn shift_right(self, by: Self) -> Self;
    fn wrap(self, op: WrapOp, width: u32) -> Self;
    /// Returns the value as an index; `usize::MAX` if it is negative or huge.
    fn index(self) -> usize;
}

macro_rules! wrapping {
    ($t:ty, $read:expr) => {
        impl Int for Wrapping<$t> {
            #[inline(always)]
            fn constant(v: i64) -> Self {
                Self(v as $t)
            }
            #[inline(always)]
            fn big(c: &BigConst) -> Self {
                Self(c.low as $t)
            }
            #[inline(always)]
            fn read(words: &[u64], f: FieldRef) -> Self {
                Self($read(words, f))
            }
            fn quotient(self, o: Self) -> Self {
                Self(self.0.checked_div(o.0).unwrap_or(0))
            }
            fn remainder(self, o: Self) -> Self {
                Self(self.0.checked_rem(o.0).unwrap_or(0))
            }
            fn shift_left(self, by: Self) -> Self {
                let by = u32::try_from(by.0).ok();
                Self(by.and_then(|n| self.0.checked_shl(n)).unwrap_or(0))
            }
            fn shift_right(self, by: Self) -> Self {
                if by.0 < 0 {
                    return Self(0);
                }
                let n = u32::try_from(by.0).unwrap_or(u32::MAX);
                Self(self.0 >> n.min(<$t>::BITS - 1))
            }
            fn wrap(self, op: WrapOp, width: u32) -> Self {
                let bits = <$t>::BITS;
                Self(match op {
                    WrapOp::TwosComplement => {
                        let s = bits.saturating_sub(width);
                        if s == bits { 0 } else { (self.0 << s) >> s }
                    }
                    WrapOp::SaturateUnsigned => {
                        let max = ((1 as $t) << width.min(bits - 1)).wrapping_sub(1);
                        self.0.clamp(0, max)
                    }
                    WrapOp::SaturateSigned => {
                        let half = (1 as $t) << (width.max(1) - 1).min(bits - 2);
                        self.0.clamp(-half, half - 1)
                    }
                })
            }
            fn index(self) -> usize {
                usize::try_from(self.0).unwrap_or(usize::MAX)
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

wrapping!(i64, read);
wrapping!(i128, read_i128);

impl Int for BigInt {
    fn constant(v: i64) -> Self {
        Self::from(v)
    }

    fn big(c: &BigConst) -> Self {
        c.value.clone()
    }

    fn read(words: &[u64], f: FieldRef) -> Self {
        if f.width <= 64 {
            big_from_words(&[f.get(words)], f.width, f.signed)
        } else {
            big_from_words(own_words(words, f), f.width, f.signed)
        }
    }

    fn quotient(self, o: Self) -> Self {
        self.checked_div(&o).unwrap_or_default()
    }

    fn remainder(self, o: Self) -> Self {
        if o.is_zero() { o } else { self % o }
    }

    fn shift_left(self, by: Self) -> Self {
        match by.to_usize() {
            Some(n) if n <= MAX_SHIFT => self << n,
            _ => Self::zero(),
        }
    }

    fn shift_right(self, by: Self) -> Self {
        by.to_usize()
            .map_or_else(Self::zero, |n| self >> n.min(MAX_SHIFT))
    }

    fn wrap(self, op: WrapOp, width: u32) -> Self {
        let one = Self::from(1);
        match op {
            WrapOp::TwosComplement => {
                let modulus = &one << width;
                let mut r = self % &modulus;
                if r.sign() == Sign::Minus {
                    r += &modulus;
                }
                if r >= &one << (width.max(1) - 1) {
                    r -= modulus;
                }
                r
            }
            WrapOp::SaturateUnsigned => self.clamp(Self::zero(), (&one << width) - 1),
            WrapOp::SaturateSigned => {
                let half = &one << (width.max(1) - 1);
                self.clamp(-half.clone(), half - 1)
            }
        }
    }

    fn index(self) -> usize {
        self.to_usize().unwrap_or(usize::MAX)
    }
}
