// SPDX-License-Identifier: Apache-2.0
//! Common shapes of 64-bit expressions, evaluated without walking a tree: one field
//! through a chain of operations with constants, and combinations of comparisons.
//! Results equal those of the tree in wrapping 64 bits.

mod build;

use crate::layout::guard::Guard;
use p4_ir::bits::sign_extend64;
use p4_ir::{BinOp, FieldRef};

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shape {
    Const(i64),
    Field(FieldRef),
    Chain(Chain),
    /// A condition: 1 or 0.
    Test(Test),
    /// Any other expression.
    Tree,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chain {
    first: FieldRef,
    second: Option<(BinOp, FieldRef)>,
    steps: Box<[Step]>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    Add(i64),
    Mul(i64),
    And(i64),
    Or(i64),
    Xor(i64),
    /// Shift by less than 64.
    Shl(u32),
    Shr(u32),
    Clamp(i64, i64),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Test {
    /// Compares both sides as unsigned numbers.
    Compare(FieldRef, Relation, Right),
    All(Box<[Test]>),
    Any(Box<[Test]>),
}

/// A relation as bits: holds for less (1), equal (2), greater (4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Relation {
    Eq = 2,
    Ne = 5,
    Lt = 1,
    Ge = 6,
    Gt = 4,
    Le = 3,
}

impl Relation {
    pub(crate) fn negated(self) -> Self {
        match self {
            Self::Eq => Self::Ne,
            Self::Ne => Self::Eq,
            Self::Lt => Self::Ge,
            Self::Ge => Self::Lt,
            Self::Gt => Self::Le,
            Self::Le => Self::Gt,
        }
    }

    #[inline(always)]
    pub(crate) fn holds(self, l: u64, r: u64) -> bool {
        let order = u8::from(l >= r) + u8::from(l > r);
        (self as u8 >> order) & 1 != 0
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Right {
    Const(u64),
    Field(FieldRef),
    /// An argument of the action.
    Arg(FieldRef),
}

impl Test {
    /// Returns the fields that must or must not have certain values, if the test is just that.
    pub(crate) fn guards(&self) -> Option<Vec<Guard>> {
        match self {
            Self::Compare(f, r @ (Relation::Eq | Relation::Ne), Right::Const(c)) => {
                Some(vec![Guard::new(*f, *c, *r == Relation::Eq)])
            }
            Self::All(list) => {
                let each: Option<Vec<_>> = list.iter().map(Self::guards).collect();
                Some(each?.concat())
            }
            _ => None,
        }
    }
}

#[inline(always)]
pub(crate) fn read(words: &[u64], f: FieldRef) -> i64 {
    let v = f.get(words);
    if f.signed {
        sign_extend64(v, f.width)
    } else {
        v as i64
    }
}

impl Chain {
    #[inline]
    pub(crate) fn value(&self, words: &[u64]) -> i64 {
        let mut v = read(words, self.first);
        if let Some((op, f)) = self.second {
            let o = read(words, f);
            v = match op {
                BinOp::Add => v.wrapping_add(o),
                BinOp::Sub => v.wrapping_sub(o),
                BinOp::Mul => v.wrapping_mul(o),
                BinOp::And => v & o,
                BinOp::Or => v | o,
                _ => v ^ o,
            };
        }
        for s in &self.steps {
            v = match *s {
                Step::Add(c) => v.wrapping_add(c),
                Step::Mul(c) => v.wrapping_mul(c),
                Step::And(c) => v & c,
                Step::Or(c) => v | c,
                Step::Xor(c) => v ^ c,
                Step::Shl(n) => v << (n & 63),
                Step::Shr(n) => v >> (n & 63),
                Step::Clamp(low, high) => v.clamp(low, high),
            };
        }
        v
    }
}

impl Test {
    #[inline]
    pub(crate) fn holds(&self, words: &[u64], args: &[u64]) -> bool {
        match self {
            Self::Compare(f, relation, right) => {
                let l = f.get(words);
                let r = match right {
                    Right::Const(c) => *c,
                    Right::Field(f) => f.get(words),
                    Right::Arg(f) => f.get(args),
                };
                relation.holds(l, r)
            }
            Self::All(list) => list.iter().all(|t| t.holds(words, args)),
            Self::Any(list) => list.iter().any(|t| t.holds(words, args)),
        }
    }

    fn negated(self) -> Self {
        let each = |list: Box<[Self]>| list.into_vec().into_iter().map(Self::negated).collect();
        match self {
            Self::Compare(f, r, x) => Self::Compare(f, r.negated(), x),
            Self::All(list) => Self::Any(each(list)),
            Self::Any(list) => Self::All(each(list)),
        }
    }
}
