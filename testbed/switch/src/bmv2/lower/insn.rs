// SPDX-License-Identifier: Apache-2.0
//! Instructions of an action as steps.

use super::asm::{Asm, Label};
use super::expr::{self, Value};
use super::words::{Assign, Part};
use crate::bmv2::bits::mask64;
use crate::bmv2::expr::FieldRef;
use crate::bmv2::ir::{Constant, Insn, Program};
use crate::bmv2::op::{Add, Op};

/// A list of its own.
pub fn list(insns: &[Insn], program: &Program) -> Box<[Op]> {
    let mut asm = Asm::default();
    append(insns, program, &mut asm);
    asm.finish()
}

/// Appends a list; its end is whatever follows.
pub fn append(insns: &[Insn], program: &Program, asm: &mut Asm) {
    let mut labels: Vec<Option<Label>> = vec![None; insns.len() + 1];
    for i in insns {
        if let Insn::Jump(t) | Insn::JumpIfZero { target: t, .. } = i
            && let Some(l) = labels.get_mut(*t as usize)
        {
            l.get_or_insert_with(|| asm.label());
        }
    }
    let label = |t: u32| labels.get(t as usize).copied().flatten();
    for (at, i) in insns.iter().enumerate() {
        if let Some(l) = label(at as u32) {
            asm.place(l);
        }
        match i {
            Insn::Jump(t) => match label(*t) {
                Some(l) => asm.push(Op::Jump(l.target())),
                None => asm.push(Op::End),
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

fn one(i: &Insn, program: &Program, asm: &mut Asm) {
    match i {
        Insn::SetConst(c) => constant(c, asm),
        Insn::Copy { dst, src } => {
            // A signed source is at least as wide as what is kept of it.
            let kept = mask64(dst.width.min(src.width));
            asm.assign(copied(*dst, src.slot, src.shift, kept, false));
        }
        Insn::SetArg { dst, offset } => {
            asm.assign(copied(*dst, *offset, 0, dst.mask, true));
        }
        Insn::Set64 { dst, value } => {
            let mut v = expr::value(value);
            v.ops.push(Op::Put((*dst).into()));
            local(v, &[dst.slot], asm);
        }
        Insn::RegisterRead {
            dst,
            register,
            index,
        } if dst.width <= 64 && !dst.variable && narrow_cells(program, *register) => {
            let mut v = expr::index(index);
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
            let mut v = expr::index(index);
            more(&mut v, expr::value(value));
            v.ops.push(Op::WriteCell {
                register: *register,
                mask,
            });
            local(v, &[], asm);
        }
        Insn::Count { counter, index } => {
            let mut v = expr::index(index);
            v.ops.push(Op::Count { counter: *counter });
            local(v, &[], asm);
        }
        Insn::Truncate { bytes } => {
            let mut v = expr::value(bytes);
            v.ops.push(Op::Truncate);
            local(v, &[], asm);
        }
        Insn::AddHeader(h) => header(i, *h, program, asm),
        Insn::RemoveHeader(h) => header(i, *h, program, asm),
        other => asm.push(Op::Other(Box::new(other.clone()))),
    }
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

fn local(v: Value, writes: &[u32], asm: &mut Asm) {
    match v.reads {
        Some(reads) => asm.push_local(v.ops, &reads, writes),
        None => v.ops.into_iter().for_each(|op| asm.push(op)),
    }
}

fn constant(c: &Constant, asm: &mut Asm) {
    asm.assign(Assign {
        slot: c.slot,
        keep: c.keep,
        value: c.value,
        part: None,
    });
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

fn header(i: &Insn, h: u32, program: &Program, asm: &mut Asm) {
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
