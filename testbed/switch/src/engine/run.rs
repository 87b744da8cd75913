// SPDX-License-Identifier: Apache-2.0
//! Runs lists of steps: the innermost loop.

use super::eval::{self, Env, set_word, word};
use super::exec::Exec;
use super::packet::Packet;
use crate::bmv2::op::{Arith, Op, Word};

/// Jumps back that one list may make: ends a loop that would not.
const MAX_LOOPS: u32 = 1 << 20;

impl Exec<'_> {
    /// The whole list, which has no tables. Many are one step: no call for them.
    #[inline]
    pub fn run_list(&mut self, code: &[Op], args: &[u64], p: &mut Packet) {
        match code {
            [] => {}
            [Op::Words(list)] => store_words(list, &mut p.words),
            [Op::ArgWords(list)] => store_args(list, &mut p.words, args),
            code => {
                self.run(code, 0, args, p);
            }
        }
    }

    /// From position `pc` to the end of the list or to a table, which is
    /// returned.
    pub fn run(&mut self, code: &[Op], mut pc: usize, args: &[u64], p: &mut Packet) -> Option<u32> {
        let program = self.program;
        let mut acc = 0i64;
        let mut held = 0i64;
        let mut index = 0usize;
        let mut loops = 0u32;
        loop {
            // Until something needs the whole packet.
            let words = &mut *p.words;
            let other = loop {
                let op = code.get(pc)?;
                pc += 1;
                let jump = match op {
                    Op::Words(list) => {
                        store_words(list, words);
                        continue;
                    }
                    Op::ArgWords(list) => {
                        store_args(list, words, args);
                        continue;
                    }
                    Op::Load(b) => {
                        acc = b.get(words) as i64;
                        continue;
                    }
                    Op::LoadSigned { bits, width } => {
                        let up = 64 - u32::from(*width).clamp(1, 64);
                        acc = ((bits.get(words) << up) as i64) >> up;
                        continue;
                    }
                    Op::LoadArg(b) => {
                        acc = b.get(args) as i64;
                        continue;
                    }
                    Op::Imm(v) => {
                        acc = *v;
                        continue;
                    }
                    Op::Eval(c) => {
                        let env = Env {
                            program,
                            words,
                            args,
                        };
                        acc = eval::low64(c, env) as i64;
                        continue;
                    }
                    Op::Add(c) => {
                        acc = acc.wrapping_add(*c);
                        continue;
                    }
                    Op::Mul(c) => {
                        acc = acc.wrapping_mul(*c);
                        continue;
                    }
                    Op::And(c) => {
                        acc &= c;
                        continue;
                    }
                    Op::Or(c) => {
                        acc |= c;
                        continue;
                    }
                    Op::Xor(c) => {
                        acc ^= c;
                        continue;
                    }
                    Op::Shl(n) => {
                        acc <<= n & 63;
                        continue;
                    }
                    Op::Shr(n) => {
                        acc >>= n & 63;
                        continue;
                    }
                    Op::Clamp { low, high } => {
                        acc = acc.max(*low).min(*high);
                        continue;
                    }
                    Op::SignExtend(n) => {
                        acc = (acc << (n & 63)) >> (n & 63);
                        continue;
                    }
                    Op::Field(a, b) => {
                        acc = arith(*a, acc, b.get(words) as i64);
                        continue;
                    }
                    Op::Arg(a, b) => {
                        acc = arith(*a, acc, b.get(args) as i64);
                        continue;
                    }
                    Op::Hold => {
                        held = acc;
                        continue;
                    }
                    Op::Held(a) => {
                        acc = arith(*a, acc, held);
                        continue;
                    }
                    Op::Put(b) => {
                        b.set(words, acc as u64);
                        continue;
                    }
                    Op::Index => {
                        index = usize::try_from(acc).unwrap_or(usize::MAX);
                        continue;
                    }
                    Op::IndexField(b) => {
                        let i = b.get(words) as i64;
                        index = usize::try_from(i).unwrap_or(usize::MAX);
                        continue;
                    }
                    Op::IndexImm(n) => {
                        index = *n as usize;
                        continue;
                    }
                    Op::IndexEval(c) => {
                        let env = Env {
                            program,
                            words,
                            args,
                        };
                        index = eval::index(c, env);
                        continue;
                    }
                    Op::ReadCell { register, to } => {
                        let register = self.cells.registers.get(*register as usize);
                        if let Some([v, ..]) = register.and_then(|r| r.cell(index)) {
                            to.set(words, *v);
                        }
                        continue;
                    }
                    Op::WriteCell { register, mask } => {
                        let register = self.cells.registers.get_mut(*register as usize);
                        if let Some([v, ..]) = register.and_then(|r| r.cell_mut(index)) {
                            *v = acc as u64 & mask;
                        }
                        continue;
                    }
                    Op::Count { counter } => {
                        let cells = self.cells.counters.get_mut(*counter as usize);
                        if let Some(c) = cells.and_then(|c| c.get_mut(index)) {
                            c.packets = c.packets.wrapping_add(1);
                            c.bytes = c.bytes.wrapping_add(u64::from(p.ingress_bytes));
                        }
                        continue;
                    }
                    Op::Truncate => {
                        let present = p.requests.truncate_bytes.unwrap_or(u32::MAX);
                        p.requests.truncate_bytes = Some((acc as u32).min(present));
                        continue;
                    }
                    Op::AddHeaders(list) => {
                        for h in list {
                            if word(words, h.valid) == 0 {
                                clear(words, h.first as usize, h.words as usize);
                                set_word(words, h.valid, 1);
                                p.length_bytes += h.bytes;
                            }
                        }
                        continue;
                    }
                    Op::RemoveHeader { valid, bytes } => {
                        if word(words, *valid) != 0 {
                            set_word(words, *valid, 0);
                            p.length_bytes = p.length_bytes.saturating_sub(*bytes);
                        }
                        continue;
                    }
                    Op::Jump(t) => Some(*t),
                    Op::JumpIfClear { slot, target, mask } => {
                        (word(words, *slot) & mask == 0).then_some(*target)
                    }
                    Op::JumpIfSet { slot, target, mask } => {
                        (word(words, *slot) & mask != 0).then_some(*target)
                    }
                    Op::JumpIfEqual {
                        slot,
                        target,
                        mask,
                        value,
                    } => (word(words, *slot) & mask == *value).then_some(*target),
                    Op::JumpUnlessEqual {
                        slot,
                        target,
                        mask,
                        value,
                    } => (word(words, *slot) & mask != *value).then_some(*target),
                    Op::JumpIf {
                        relation,
                        slot,
                        target,
                        mask,
                        value,
                    } => relation
                        .holds(word(words, *slot) & mask, *value)
                        .then_some(*target),
                    Op::JumpIfField {
                        relation,
                        target,
                        with,
                    } => relation
                        .holds(acc as u64, with.get(words))
                        .then_some(*target),
                    Op::JumpIfArg {
                        relation,
                        target,
                        with,
                    } => relation
                        .holds(acc as u64, with.get(args))
                        .then_some(*target),
                    Op::JumpIfFalse { condition, target } => {
                        let env = Env {
                            program,
                            words,
                            args,
                        };
                        (!eval::truth(condition, env)).then_some(*target)
                    }
                    Op::Call(_) | Op::Other(_) => break op,
                    Op::Table(t) => return Some(*t),
                    Op::End => return None,
                    Op::EndIfExit => {
                        if p.requests.exit {
                            return None;
                        }
                        continue;
                    }
                };
                if let Some(t) = jump {
                    let t = t as usize;
                    if t < pc {
                        loops += 1;
                        if loops > MAX_LOOPS {
                            return None;
                        }
                    }
                    pc = t;
                }
            };
            match other {
                Op::Call(c) => {
                    if let Some(a) = program.actions.get(c.action as usize) {
                        self.run_list(&a.code, &c.args, p);
                    }
                }
                Op::Other(i) => self.rare(i, args, p),
                _ => {}
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

#[inline(always)]
fn store_words(list: &[Word], words: &mut [u64]) {
    for w in list {
        let part = word(words, w.from).rotate_left(u32::from(w.rotate)) & w.mask;
        store_word(w, part, words);
    }
}

#[inline(always)]
fn store_args(list: &[Word], words: &mut [u64], args: &[u64]) {
    for w in list {
        let part = word(args, w.from).rotate_left(u32::from(w.rotate)) & w.mask;
        store_word(w, part, words);
    }
}

#[inline(always)]
fn store_word(w: &Word, part: u64, words: &mut [u64]) {
    if let Some(x) = words.get_mut(w.slot as usize) {
        *x = (*x & w.keep) | w.value | part;
    }
}

/// Cheaper than a call for the one to three words of most headers.
#[inline(always)]
fn clear(words: &mut [u64], first: usize, count: usize) {
    let Some(list) = words.get_mut(first..first + count) else {
        return;
    };
    match list {
        [a] => *a = 0,
        [a, b] => (*a, *b) = (0, 0),
        [a, b, c] => (*a, *b, *c) = (0, 0, 0),
        list => list.fill(0),
    }
}

#[cfg(test)]
mod tests;
