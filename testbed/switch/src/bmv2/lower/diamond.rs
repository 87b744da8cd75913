// SPDX-License-Identifier: Apache-2.0
//! `dst = condition ? a : b`, which p4c writes as two assignments with jumps
//! around them, as one step.

use super::asm::Asm;
use crate::bmv2::bits::mask64;
use crate::bmv2::expr::{Compiled, FieldRef};
use crate::bmv2::fast::{Fast, Relation, Right, Test};
use crate::bmv2::ir::Insn;
use crate::bmv2::op::{Bits, Choose, Source};

/// Instructions of a diamond.
pub const LENGTH: usize = 4;

/// Where diamonds begin. No other jumps lead into them.
pub fn find(insns: &[Insn]) -> Vec<bool> {
    let mut entered = vec![0u32; insns.len() + 1];
    for i in insns {
        if let Insn::Jump(t) | Insn::JumpIfZero { target: t, .. } = i
            && let Some(n) = entered.get_mut(*t as usize)
        {
            *n += 1;
        }
    }
    let entered = |at: usize| entered.get(at).copied().unwrap_or(0);
    let is_one = |(at, list): (usize, &[Insn])| {
        let first = at as u32;
        matches!(list, [Insn::JumpIfZero { target, .. }, _, Insn::Jump(end), _]
            if *target == first + 3 && *end == first + 4)
            && [1, 2].iter().all(|i| entered(at + i) == 0)
            && entered(at + 3) == 1
            && shape(list).is_some()
    };
    let mut out: Vec<bool> = insns.windows(LENGTH).enumerate().map(is_one).collect();
    out.resize(insns.len(), false);
    out
}

/// Condition, destination, and the two values.
fn shape(list: &[Insn]) -> Option<(FieldRef, Relation, u64, Bits, [Source; 2])> {
    let [Insn::JumpIfZero { condition, .. }, yes, _, no] = list else {
        return None;
    };
    let (field, relation, value) = comparison(condition)?;
    let ((to, yes), (other, no)) = (assigned(yes)?, assigned(no)?);
    (to == other).then_some((field, relation, value, to, [yes, no]))
}

fn comparison(c: &Compiled) -> Option<(FieldRef, Relation, u64)> {
    match &c.fast {
        Fast::Field(f) => Some((*f, Relation::Ne, 0)),
        Fast::Test(Test::Compare(f, relation, Right::Const(c))) => Some((*f, *relation, *c)),
        _ => None,
    }
}

fn assigned(i: &Insn) -> Option<(Bits, Source)> {
    match i {
        Insn::SetConst(c) => {
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
        Insn::Copy { dst, src } => {
            let from = Bits {
                mask: mask64(dst.width.min(src.width)),
                ..(*src).into()
            };
            Some(((*dst).into(), Source { from, constant: 0 }))
        }
        _ => None,
    }
}

/// The step for the diamond that begins the list.
pub fn step(list: &[Insn], asm: &Asm<'_>) -> Option<Choose> {
    let (field, relation, value, to, sources) = shape(list.get(..LENGTH)?)?;
    let [yes, no] = sources.map(|s| Source {
        from: asm.origin(s.from),
        ..s
    });
    Some(Choose {
        test: asm.origin(field.into()),
        relation,
        value,
        yes,
        no,
        to,
    })
}

impl Choose {
    /// Words that are read, whatever is chosen.
    pub fn reads(&self) -> [u32; 3] {
        [self.test.slot, self.yes.from.slot, self.no.from.slot]
    }
}
