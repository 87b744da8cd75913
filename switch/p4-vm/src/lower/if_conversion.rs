// SPDX-License-Identifier: Apache-2.0
//! If-conversion: turns `dst = condition ? a : b`, which p4c writes as two assignments with
//! jumps around them, into one instruction.

use super::emitter::Emitter;
use crate::bytecode::{Choose, Source};
use crate::layout::shape::{Relation, Right, Shape, Test};
use p4_ir::Bits;
use p4_ir::FieldRef;
use p4_ir::Primitive;
use p4_ir::TypedExpr;
use p4_ir::bits::mask64;

/// Number of instructions in a diamond.
pub(super) const LENGTH: usize = 4;

/// Finds the starts of diamonds that no other jump enters.
pub(super) fn find(primitives: &[Primitive]) -> Vec<bool> {
    let mut entered = vec![0u32; primitives.len() + 1];
    for i in primitives {
        if let Primitive::Jump(t) | Primitive::JumpIfZero { target: t, .. } = i
            && let Some(n) = entered.get_mut(*t as usize)
        {
            *n += 1;
        }
    }
    let entered = |at: usize| entered.get(at).copied().unwrap_or(0);
    let is_one = |(at, list): (usize, &[Primitive])| {
        let first = at as u32;
        matches!(list, [Primitive::JumpIfZero { target, .. }, _, Primitive::Jump(end), _]
            if *target == first + 3 && *end == first + 4)
            && [1, 2].iter().all(|i| entered(at + i) == 0)
            && entered(at + 3) == 1
            && shape(list).is_some()
    };
    let mut out: Vec<bool> = primitives.windows(LENGTH).enumerate().map(is_one).collect();
    out.resize(primitives.len(), false);
    out
}

/// Returns the condition, the destination, and the two values.
fn shape(list: &[Primitive]) -> Option<(FieldRef, Relation, u64, Bits, [Source; 2])> {
    let [Primitive::JumpIfZero { condition, .. }, yes, _, no] = list else {
        return None;
    };
    let (field, relation, value) = comparison(condition)?;
    let ((to, yes), (other, no)) = (assigned(yes)?, assigned(no)?);
    (to == other).then_some((field, relation, value, to, [yes, no]))
}

fn comparison(c: &TypedExpr) -> Option<(FieldRef, Relation, u64)> {
    match Shape::of(c) {
        Shape::Field(f) => Some((f, Relation::Ne, 0)),
        Shape::Test(Test::Compare(f, relation, Right::Const(c))) => Some((f, relation, c)),
        _ => None,
    }
}

fn assigned(i: &Primitive) -> Option<(Bits, Source)> {
    match i {
        Primitive::SetConst(c) => {
            let shift = (!c.keep).trailing_zeros() as u8;
            let mask = (!c.keep).checked_shr(shift.into())?;
            let to = Bits {
                slot: c.slot,
                shift,
                mask,
            };
            let source = Source {
                from: Bits { mask: 0, ..to },
                constant: c.value >> shift,
            };
            (mask & mask.wrapping_add(1) == 0).then_some((to, source))
        }
        Primitive::Copy { dst, src } => {
            let from = Bits {
                mask: mask64(dst.width.min(src.width)),
                ..(*src).into()
            };
            Some(((*dst).into(), Source { from, constant: 0 }))
        }
        _ => None,
    }
}

/// Returns the instruction for the diamond at the start of the list.
pub(super) fn convert(list: &[Primitive], emitter: &Emitter<'_>) -> Option<Choose> {
    let (field, relation, value, to, sources) = shape(list.get(..LENGTH)?)?;
    let [yes, no] = sources.map(|s| Source {
        from: emitter.origin(s.from),
        ..s
    });
    Some(Choose {
        test: emitter.origin(field.into()),
        relation,
        value,
        yes,
        no,
        to,
    })
}

impl Choose {
    /// Returns the words that are read, whichever value is chosen.
    pub(crate) fn reads(&self) -> [u32; 3] {
        [self.test.slot, self.yes.from.slot, self.no.from.slot]
    }
}
