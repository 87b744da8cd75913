// SPDX-License-Identifier: Apache-2.0
//! Instructions of an action as steps.

use super::asm::{Asm, Label};
use super::expr::{self, Value};
use super::words::{Assign, Part};
use super::{diamond, hash};
use crate::bmv2::bits::{mask64, words_for};
use crate::bmv2::expr::FieldRef;
use crate::bmv2::ir::{Constant, Insn, Program};
use crate::bmv2::op::{Add, Affine, Bits, Op};

/// A list of its own.
pub fn list(insns: &[Insn], program: &Program, dead: &[bool]) -> Box<[Op]> {
    let mut asm = Asm::new(dead);
    append(insns, program, &mut asm);
    asm.finish()
}

/// Appends a list; its end is whatever follows.
pub fn append(insns: &[Insn], program: &Program, asm: &mut Asm<'_>) {
    let diamonds = diamond::find(insns);
    let begins = |at: usize| diamonds.get(at).copied().unwrap_or(false);
    let mut labels: Vec<Option<Label>> = vec![None; insns.len() + 1];
    for (at, i) in insns.iter().enumerate() {
        if begins(at) || at.checked_sub(2).is_some_and(begins) {
            continue;
        }
        if let Insn::Jump(t) | Insn::JumpIfZero { target: t, .. } = i
            && let Some(l) = labels.get_mut(*t as usize)
        {
            l.get_or_insert_with(|| asm.label());
        }
    }
    let label = |t: u32| labels.get(t as usize).copied().flatten();
    let mut skip = 0;
    for (at, i) in insns.iter().enumerate() {
        if skip > 0 {
            skip -= 1;
            continue;
        }
        if let Some(l) = label(at as u32) {
            asm.place(l);
        }
        if begins(at)
            && let Some(c) = insns.get(at..).and_then(|list| diamond::step(list, asm))
        {
            asm.push_local(vec![Op::Choose(Box::new(c))], &c.reads(), &[c.to.slot]);
            skip = diamond::LENGTH - 1;
            continue;
        }
        match i {
            Insn::Jump(t) => match label(*t) {
                Some(l) => asm.push_jump(Op::Jump(l.target())),
                None => asm.push_jump(Op::End),
            },
            Insn::JumpIfZero { condition, target } => {
                if let Some(l) = label(*target) {
                    expr::jump_when(condition, false, l, asm);
                }
            }
            other => one(other, program, asm),
        }
    }
    if let Some(l) = label(insns.len() as u32) {
        asm.place(l);
    }
}

fn one(i: &Insn, program: &Program, asm: &mut Asm<'_>) {
    match i {
        Insn::SetConst(c) => constant(c, asm),
        Insn::Copy { dst, src } => {
            // A signed source is at least as wide as what is kept of it.
            let kept = mask64(dst.width.min(src.width));
            let of = asm.origin(Bits {
                mask: kept,
                ..(*src).into()
            });
            let a = copied(*dst, of.slot, of.shift, of.mask, false);
            asm.assign(a, Some(((*dst).into(), of)));
        }
        Insn::SetArg { dst, offset } => {
            asm.assign(copied(*dst, *offset, 0, dst.mask, true), None);
        }
        Insn::Set64 { dst, value } => {
            let mut v = expr::value(value, asm);
            match affine(&v.ops, (*dst).into()) {
                Some(a) => v.ops = vec![Op::Affine(vec![a])],
                None => v.ops.push(Op::Put((*dst).into())),
            }
            local(v, &[dst.slot], asm);
        }
        Insn::RegisterRead {
            dst,
            register,
            index,
        } if dst.width <= 64 && !dst.variable && narrow_cells(program, *register) => {
            let mut v = expr::index(index, asm);
            v.ops.push(Op::ReadCell {
                register: *register,
                to: (*dst).into(),
            });
            local(v, &[dst.slot], asm);
        }
        Insn::RegisterWrite {
            register,
            index,
            value,
        } if narrow_cells(program, *register) => {
            let mask = program
                .registers
                .get(*register as usize)
                .map_or(0, |r| mask64(r.width));
            let mut v = expr::index(index, asm);
            more(&mut v, expr::value(value, asm));
            v.ops.push(Op::WriteCell {
                register: *register,
                mask,
            });
            local(v, &[], asm);
        }
        Insn::Count { counter, index } => {
            let mut v = expr::index(index, asm);
            v.ops.push(Op::Count { counter: *counter });
            local(v, &[], asm);
        }
        Insn::Truncate { bytes } => {
            let mut v = expr::value(bytes, asm);
            v.ops.push(Op::Truncate);
            local(v, &[], asm);
        }
        Insn::AddHeader(h) => header(i, *h, program, asm),
        Insn::RemoveHeader(h) => header(i, *h, program, asm),
        Insn::CopyWide { dst, .. } if asm.all_dead(dst.slot, words_for(dst.width)) => {}
        Insn::Hash {
            dst,
            base,
            calculation,
            max,
        } => match hash::step(*dst, base, *calculation, max, program, asm) {
            Some(h) => {
                let reads: Vec<_> = h.gather.slots().collect();
                asm.push_local(vec![Op::Hash(Box::new(h))], &reads, &[dst.slot]);
            }
            None => asm.push(Op::Other(Box::new(i.clone()))),
        },
        other => asm.push(Op::Other(Box::new(other.clone()))),
    }
}

/// The steps as one, if all they do to a field is to multiply and add.
fn affine(ops: &[Op], to: Bits) -> Option<Affine> {
    let (Op::Load(from), steps) = ops.split_first()? else {
        return None;
    };
    let (mut factor, mut term) = (1u64, 0u64);
    for s in steps {
        let (f, t) = match s {
            Op::Add(c) => (1, *c as u64),
            Op::Mul(c) => (*c as u64, 0),
            Op::Shl(n) => (1 << (n & 63), 0),
            // What the mask takes away, the field does not hold either.
            Op::And(c) if *c as u64 & to.mask == to.mask => (1, 0),
            _ => return None,
        };
        factor = factor.wrapping_mul(f);
        term = term.wrapping_mul(f).wrapping_add(t);
    }
    Some(Affine {
        from: *from,
        to,
        factor,
        term,
    })
}

fn narrow_cells(program: &Program, register: u32) -> bool {
    program
        .registers
        .get(register as usize)
        .is_some_and(|r| r.width <= 64)
}

fn more(v: &mut Value, next: Value) {
    v.ops.extend(next.ops);
    match (&mut v.reads, next.reads) {
        (Some(r), Some(more)) => r.extend(more),
        (r, _) => *r = None,
    }
}

fn local(v: Value, writes: &[u32], asm: &mut Asm<'_>) {
    match v.reads {
        Some(reads) => asm.push_local(v.ops, &reads, writes),
        None => v.ops.into_iter().for_each(|op| asm.push(op)),
    }
}

fn constant(c: &Constant, asm: &mut Asm<'_>) {
    let a = Assign {
        slot: c.slot,
        keep: c.keep,
        value: c.value,
        part: None,
    };
    asm.assign(a, None);
}

/// `kept` bits from `shift` up in word `from` become the whole of `dst`.
fn copied(dst: FieldRef, from: u32, shift: u8, kept: u64, argument: bool) -> Assign {
    Assign {
        slot: dst.slot,
        keep: !(dst.mask << dst.shift),
        value: 0,
        part: Some(Part {
            from,
            rotate: (dst.shift + 64 - shift) % 64,
            argument,
            mask: kept << dst.shift,
        }),
    }
}

fn header(i: &Insn, h: u32, program: &Program, asm: &mut Asm<'_>) {
    let Some(h) = program
        .headers
        .get(h as usize)
        .filter(|h| h.variable.is_none())
    else {
        return asm.push(Op::Other(Box::new(i.clone())));
    };
    let bytes = h.fixed_bits / 8;
    if matches!(i, Insn::RemoveHeader(_)) {
        let op = Op::RemoveHeader {
            valid: h.valid,
            bytes,
        };
        return asm.push_local(vec![op], &[h.valid], &[h.valid]);
    }
    let op = Op::AddHeaders(vec![Add {
        valid: h.valid,
        first: h.words.start as u32,
        words: h.words.len() as u32,
        bytes,
    }]);
    let mut touched: Vec<u32> = h.words.clone().map(|s| s as u32).collect();
    touched.push(h.valid);
    asm.push_local(vec![op], &touched, &touched);
}

/// Ends the list early after what may have asked for it.
pub fn may_exit(insns: &[Insn]) -> bool {
    insns
        .iter()
        .any(|i| matches!(i, Insn::Exit | Insn::Assert { .. }))
}
