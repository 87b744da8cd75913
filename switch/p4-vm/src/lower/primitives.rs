// SPDX-License-Identifier: Apache-2.0
//! Lowers the primitives of an action to instructions.

use super::emitter::{Emitter, Label};
use super::expressions::{self, Value};
use super::store_coalescing::{Assign, Part};
use super::{hash, if_conversion};
use crate::bytecode::{Add, Affine, Op};
use crate::packet::DROP_PORT;
use p4_ir::Bits;
use p4_ir::FieldRef;
use p4_ir::bits::{mask64, words_for};
use p4_ir::{Constant, HeaderRef, Primitive, Program};

/// Lowers primitives to a list of their own.
pub(crate) fn list(primitives: &[Primitive], program: &Program, dead: &[bool]) -> Box<[Op]> {
    let mut emitter = Emitter::new(dead);
    append(primitives, program, &mut emitter);
    emitter.finish()
}

/// Appends a list; it ends where the following code begins.
pub(super) fn append(primitives: &[Primitive], program: &Program, emitter: &mut Emitter<'_>) {
    let diamonds = if_conversion::find(primitives);
    let begins = |at: usize| diamonds.get(at).copied().unwrap_or(false);
    let mut labels: Vec<Option<Label>> = vec![None; primitives.len() + 1];
    for (at, i) in primitives.iter().enumerate() {
        if begins(at) || at.checked_sub(2).is_some_and(begins) {
            continue;
        }
        if let Primitive::Jump(t) | Primitive::JumpIfZero { target: t, .. } = i
            && let Some(l) = labels.get_mut(*t as usize)
        {
            l.get_or_insert_with(|| emitter.label());
        }
    }
    let label = |t: u32| labels.get(t as usize).copied().flatten();
    let mut skip = 0;
    for (at, i) in primitives.iter().enumerate() {
        if skip > 0 {
            skip -= 1;
            continue;
        }
        if let Some(l) = label(at as u32) {
            emitter.place(l);
        }
        if begins(at)
            && let Some(c) = primitives
                .get(at..)
                .and_then(|list| if_conversion::convert(list, emitter))
        {
            emitter.push_local(vec![Op::Choose(Box::new(c))], &c.reads(), &[c.to.slot]);
            skip = if_conversion::LENGTH - 1;
            continue;
        }
        match i {
            Primitive::Jump(t) => match label(*t) {
                Some(l) => emitter.push_jump(Op::Jump(l.target())),
                None => emitter.push_jump(Op::End),
            },
            Primitive::JumpIfZero { condition, target } => {
                if let Some(l) = label(*target) {
                    expressions::jump_when(condition, false, l, emitter);
                }
            }
            other => one(other, program, emitter),
        }
    }
    if let Some(l) = label(primitives.len() as u32) {
        emitter.place(l);
    }
}

fn one(i: &Primitive, program: &Program, emitter: &mut Emitter<'_>) {
    match i {
        Primitive::SetConst(c) => constant(c, emitter),
        Primitive::Copy { dst, src } => {
            // A signed source is at least as wide as the bits that are kept.
            let kept = mask64(dst.width.min(src.width));
            let of = emitter.origin(Bits {
                mask: kept,
                ..(*src).into()
            });
            let a = copied(*dst, of.slot, of.shift, of.mask, false);
            emitter.assign(a, Some(((*dst).into(), of)));
        }
        Primitive::SetArg { dst, offset } => {
            emitter.assign(copied(*dst, *offset, 0, dst.mask, true), None);
        }
        Primitive::Set64 { dst, value } => {
            let mut v = expressions::value(value, emitter);
            match affine(&v.ops, (*dst).into()) {
                Some(a) => v.ops = vec![Op::Affine(vec![a])],
                None => v.ops.push(Op::Put((*dst).into())),
            }
            local(v, &[dst.slot], emitter);
        }
        Primitive::RegisterRead {
            dst,
            register,
            index,
        } if dst.width <= 64 && !dst.variable && narrow_cells(program, *register) => {
            let mut v = expressions::index(index, emitter);
            v.ops.push(Op::ReadCell {
                register: *register,
                to: (*dst).into(),
            });
            local(v, &[dst.slot], emitter);
        }
        Primitive::RegisterWrite {
            register,
            index,
            value,
        } if narrow_cells(program, *register) => {
            let mask = program
                .registers
                .get(*register as usize)
                .map_or(0, |r| mask64(r.width));
            let mut v = expressions::index(index, emitter);
            more(&mut v, expressions::value(value, emitter));
            v.ops.push(Op::WriteCell {
                register: *register,
                mask,
            });
            local(v, &[], emitter);
        }
        Primitive::Count { counter, index } => {
            let mut v = expressions::index(index, emitter);
            v.ops.push(Op::Count { counter: *counter });
            local(v, &[], emitter);
        }
        Primitive::Truncate { bytes } => {
            let mut v = expressions::value(bytes, emitter);
            v.ops.push(Op::Truncate);
            local(v, &[], emitter);
        }
        Primitive::AddHeader(HeaderRef::Of(h)) | Primitive::RemoveHeader(HeaderRef::Of(h)) => {
            header(i, *h, program, emitter);
        }
        Primitive::MarkToDrop {
            egress_spec,
            mcast_grp,
        } => {
            let drop = [(Some(egress_spec), DROP_PORT), (mcast_grp.as_ref(), 0)];
            for (f, value) in drop {
                let Some(f) = f else { continue };
                let c = Constant {
                    slot: f.slot,
                    keep: !(f.mask << f.shift),
                    value: (u64::from(value) & f.mask) << f.shift,
                };
                constant(&c, emitter);
            }
        }
        Primitive::NoOp => {}
        Primitive::CopyWide { dst, .. } if emitter.all_dead(dst.slot, words_for(dst.width)) => {}
        Primitive::Hash {
            dst,
            base,
            calculation,
            max,
        } => match hash::convert(*dst, base, *calculation, max, program, emitter) {
            Some(h) => {
                let reads: Vec<_> = h.input.slots().collect();
                emitter.push_local(vec![Op::Hash(Box::new(h))], &reads, &[dst.slot]);
            }
            None => emitter.push(Op::Other(Box::new(i.clone()))),
        },
        other => emitter.push(Op::Other(Box::new(other.clone()))),
    }
}

/// Returns one instruction for a list that only multiplies a field and adds.
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
            // The mask only removes bits that the destination does not hold either.
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

fn local(v: Value, writes: &[u32], emitter: &mut Emitter<'_>) {
    match v.reads {
        Some(reads) => emitter.push_local(v.ops, &reads, writes),
        None => v.ops.into_iter().for_each(|op| emitter.push(op)),
    }
}

fn constant(c: &Constant, emitter: &mut Emitter<'_>) {
    let a = Assign {
        slot: c.slot,
        keep: c.keep,
        value: c.value,
        part: None,
    };
    emitter.assign(a, None);
}

/// Makes the whole of `dst` a copy of `kept` bits from `shift` up in word `from`.
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

fn header(i: &Primitive, h: u32, program: &Program, emitter: &mut Emitter<'_>) {
    let Some(h) = program
        .headers
        .get(h as usize)
        .filter(|h| h.variable.is_none() && h.rivals.is_empty())
    else {
        return emitter.push(Op::Other(Box::new(i.clone())));
    };
    let bytes = h.fixed_bits / 8;
    if matches!(i, Primitive::RemoveHeader(_)) {
        let op = Op::RemoveHeader {
            valid: h.valid,
            bytes,
        };
        return emitter.push_local(vec![op], &[h.valid], &[h.valid]);
    }
    let op = Op::AddHeaders(vec![Add {
        valid: h.valid,
        first: h.words.start as u32,
        words: h.words.len() as u32,
        bytes,
    }]);
    let mut touched: Vec<u32> = h.words.clone().map(|s| s as u32).collect();
    touched.push(h.valid);
    emitter.push_local(vec![op], &touched, &touched);
}

/// Returns whether the list may execute `exit` and thus end early.
pub(super) fn may_exit(primitives: &[Primitive]) -> bool {
    primitives
        .iter()
        .any(|i| matches!(i, Primitive::Exit | Primitive::Assert { .. }))
}
