// SPDX-License-Identifier: Apache-2.0
//! Runs lists of instructions: the innermost loop.

mod cold;
mod store;

use super::exec::Exec;
use crate::bytecode::{Arith, Op};
use crate::packet::Packet;
use crate::vector::{set_word, word};
use store::{store_affine, store_args, store_words};

/// Most jumps back within one list: ends an endless loop.
const MAX_LOOPS: u32 = 1 << 20;

/// Registers that instructions compute with.
#[derive(Clone, Copy, Default)]
struct Registers {
    acc: i64,
    held: i64,
    index: usize,
}

impl Exec<'_> {
    /// Runs a whole list without tables; many have one instruction, which needs no call.
    #[inline]
    pub(crate) fn run_list(&mut self, code: &[Op], args: &[u64], p: &mut Packet) {
        match code {
            [] => {}
            [Op::Words(list)] => store_words(list, &mut p.words),
            [Op::ArgWords(list)] => store_args(list, &mut p.words, args),
            code => self.run(code, &[], args, p),
        }
    }

    /// Runs a list; `starts` holds the positions of the nodes that tables lead to.
    ///
    /// The arms of this match are short, and anything rare or long is a call, so that
    /// everything that matters stays in registers.
    pub(crate) fn run(&mut self, code: &[Op], starts: &[u32], args: &[u64], p: &mut Packet) {
        let mut r = Registers::default();
        let mut loops = 0u32;
        let mut rest = code.iter();
        loop {
            // Borrowed until an instruction needs the whole packet.
            let words = &mut *p.words;
            let other = loop {
                let Some(op) = rest.next() else { return };
                let target = match op {
                    Op::Words(list) => {
                        store_words(list, words);
                        continue;
                    }
                    Op::ArgWords(list) => {
                        store_args(list, words, args);
                        continue;
                    }
                    Op::Affine(list) => {
                        store_affine(list, words);
                        continue;
                    }
                    Op::Choose(c) => {
                        let yes = c.relation.holds(c.test.get(words), c.value);
                        let source = if yes { &c.yes } else { &c.no };
                        c.to.set(words, source.get(words));
                        continue;
                    }
                    Op::Load(b) => {
                        r.acc = b.get(words) as i64;
                        continue;
                    }
                    Op::LoadArg(b) => {
                        r.acc = b.get(args) as i64;
                        continue;
                    }
                    Op::Imm(v) => {
                        r.acc = *v;
                        continue;
                    }
                    Op::Add(c) => {
                        r.acc = r.acc.wrapping_add(*c);
                        continue;
                    }
                    Op::Mul(c) => {
                        r.acc = r.acc.wrapping_mul(*c);
                        continue;
                    }
                    Op::And(c) => {
                        r.acc &= c;
                        continue;
                    }
                    Op::Or(c) => {
                        r.acc |= c;
                        continue;
                    }
                    Op::Xor(c) => {
                        r.acc ^= c;
                        continue;
                    }
                    Op::Shl(n) => {
                        r.acc <<= n & 63;
                        continue;
                    }
                    Op::Shr(n) => {
                        r.acc >>= n & 63;
                        continue;
                    }
                    Op::Clamp { low, high } => {
                        r.acc = r.acc.max(*low).min(*high);
                        continue;
                    }
                    Op::SignExtend(n) => {
                        r.acc = (r.acc << (n & 63)) >> (n & 63);
                        continue;
                    }
                    Op::Field(a, b) => {
                        r.acc = arith(*a, r.acc, b.get(words) as i64);
                        continue;
                    }
                    Op::Arg(a, b) => {
                        r.acc = arith(*a, r.acc, b.get(args) as i64);
                        continue;
                    }
                    Op::Is(relation, value) => {
                        r.acc = i64::from(relation.holds(r.acc as u64, *value));
                        continue;
                    }
                    Op::Hold => {
                        r.held = r.acc;
                        continue;
                    }
                    Op::Held(a) => {
                        r.acc = arith(*a, r.acc, r.held);
                        continue;
                    }
                    Op::Put(b) => {
                        b.set(words, r.acc as u64);
                        continue;
                    }
                    Op::Index => {
                        r.index = usize::try_from(r.acc).unwrap_or(usize::MAX);
                        continue;
                    }
                    Op::IndexField(b) => {
                        r.index = usize::try_from(b.get(words) as i64).unwrap_or(usize::MAX);
                        continue;
                    }
                    Op::IndexImm(i) => {
                        r.index = *i as usize;
                        continue;
                    }
                    Op::ReadCell { register, to } => {
                        store::read_cell(self.cells, *register, r.index, to, words);
                        continue;
                    }
                    Op::WriteCell { register, mask } => {
                        let value = r.acc as u64 & mask;
                        store::write_cell(self.cells, *register, r.index, value);
                        continue;
                    }
                    Op::AddHeaders(list) => {
                        p.length_bytes += store::add_headers(list, words);
                        continue;
                    }
                    Op::RemoveHeader { valid, bytes } => {
                        if word(words, *valid) != 0 {
                            set_word(words, *valid, 0);
                            p.length_bytes = p.length_bytes.saturating_sub(*bytes);
                        }
                        continue;
                    }
                    Op::Jump(t) => *t,
                    Op::Back(t) => {
                        loops += 1;
                        if loops > MAX_LOOPS {
                            return;
                        }
                        *t
                    }
                    Op::JumpIfClear { slot, target, mask } => {
                        if word(words, *slot) & mask != 0 {
                            continue;
                        }
                        *target
                    }
                    Op::JumpIfSet { slot, target, mask } => {
                        if word(words, *slot) & mask == 0 {
                            continue;
                        }
                        *target
                    }
                    Op::JumpIfEqual {
                        slot,
                        target,
                        mask,
                        value,
                    } => {
                        if word(words, *slot) & mask != *value {
                            continue;
                        }
                        *target
                    }
                    Op::JumpUnlessEqual {
                        slot,
                        target,
                        mask,
                        value,
                    } => {
                        if word(words, *slot) & mask == *value {
                            continue;
                        }
                        *target
                    }
                    Op::JumpIf {
                        relation,
                        slot,
                        target,
                        mask,
                        value,
                    } => {
                        if !relation.holds(word(words, *slot) & mask, *value) {
                            continue;
                        }
                        *target
                    }
                    Op::JumpIfField {
                        relation,
                        target,
                        with,
                    } => {
                        if !relation.holds(r.acc as u64, with.get(words)) {
                            continue;
                        }
                        *target
                    }
                    Op::JumpIfArg {
                        relation,
                        target,
                        with,
                    } => {
                        if !relation.holds(r.acc as u64, with.get(args)) {
                            continue;
                        }
                        *target
                    }
                    Op::End => return,
                    // All are named, so that the compiler need not tell them apart.
                    Op::Table(_)
                    | Op::JumpIfFalse { .. }
                    | Op::EndIfExit
                    | Op::LoadSigned { .. }
                    | Op::Eval(_)
                    | Op::IndexEval(_)
                    | Op::Count { .. }
                    | Op::Truncate
                    | Op::Hash(_)
                    | Op::Call(_)
                    | Op::Other(_) => break op,
                };
                match code.get(target as usize..) {
                    Some(list) => rest = list.iter(),
                    None => return,
                }
            };
            let target = match other {
                Op::Table(t) => {
                    if self.passes == 0 {
                        return;
                    }
                    self.passes -= 1;
                    let node = self.apply(*t as usize, p);
                    if p.requests.exit {
                        return;
                    }
                    match starts.get(node as usize) {
                        Some(start) => *start,
                        None => return,
                    }
                }
                Op::JumpIfFalse { condition, target } => {
                    if condition.truth(self.env(p, args)) {
                        continue;
                    }
                    *target
                }
                Op::EndIfExit => {
                    if p.requests.exit {
                        return;
                    }
                    continue;
                }
                other => {
                    r = self.cold(other, r, args, p);
                    continue;
                }
            };
            match code.get(target as usize..) {
                Some(list) => rest = list.iter(),
                None => return,
            }
        }
    }
}

#[inline(always)]
fn arith(op: Arith, a: i64, b: i64) -> i64 {
    match op {
        Arith::Add => a.wrapping_add(b),
        Arith::Sub => a.wrapping_sub(b),
        Arith::Mul => a.wrapping_mul(b),
        Arith::And => a & b,
        Arith::Or => a | b,
        Arith::Xor => a ^ b,
    }
}

#[cfg(test)]
mod tests;
