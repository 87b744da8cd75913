// SPDX-License-Identifier: Apache-2.0
//! Runs instruction lists.

use super::eval::{self, Env, field_bits, own_words, set_word, word};
use super::hash::calculate;
use super::packet::Packet;
use super::state::Cells;
use crate::bmv2::bits::{bytes_from_words, mask_words, mask64, words_for, words_from_bytes};
use crate::bmv2::expr::{Compiled, FieldRef};
use crate::bmv2::ir::{Constant, Insn, Program};

/// Instructions one action may execute: ends a loop that would not.
const MAX_STEPS: u32 = 1 << 20;

pub struct Exec<'a> {
    pub program: &'a Program,
    pub cells: &'a mut Cells,
    pub drop_port: u32,
    pub now_us: u64,
}

impl Exec<'_> {
    pub fn run(&mut self, insns: &[Insn], args: &[u64], p: &mut Packet) {
        let mut pc = 0usize;
        let mut steps = 0u32;
        while let Some(i) = insns.get(pc) {
            pc += 1;
            match i {
                Insn::SetConst(c) => set_constant(&mut p.words, c),
                Insn::SetConsts(list) => {
                    for c in list {
                        set_constant(&mut p.words, c);
                    }
                }
                Insn::Copy { dst, src } => {
                    let v = src.get(&p.words);
                    dst.set(&mut p.words, v);
                }
                Insn::SetArg { dst, offset } => dst.set(&mut p.words, word(args, *offset)),
                Insn::Set64 { dst, value } => {
                    let v = eval::low64(value, self.env(p, args));
                    dst.set(&mut p.words, v);
                }
                Insn::Jump(t) => {
                    pc = *t as usize;
                    steps += 1;
                    if steps > MAX_STEPS {
                        return;
                    }
                }
                Insn::JumpIfZero { condition, target } => {
                    if !eval::truth(condition, self.env(p, args)) {
                        pc = *target as usize;
                        steps += 1;
                        if steps > MAX_STEPS {
                            return;
                        }
                    }
                }
                Insn::RegisterRead {
                    dst,
                    register,
                    index,
                } => {
                    let i = eval::index(index, self.env(p, args));
                    self.register_read(*dst, *register, i, p);
                }
                Insn::RegisterWrite {
                    register,
                    index,
                    value,
                } => self.register_write(*register, index, value, args, p),
                other => self.rare(other, args, p),
            }
        }
    }

    fn env<'e>(&'e self, p: &'e Packet, args: &'e [u64]) -> Env<'e> {
        Env {
            program: self.program,
            words: &p.words,
            args,
        }
    }

    fn rare(&mut self, i: &Insn, args: &[u64], p: &mut Packet) {
        match i {
            Insn::Set { dst, value } => store(self.program, value, args, *dst, p),
            Insn::SetAt {
                stack,
                field,
                index,
                value,
            } => {
                let env = self.env(p, args);
                let i = eval::index(index, env);
                if let Some(dst) = eval::stack_field(env, *stack, i, *field) {
                    store(self.program, value, args, dst, p);
                }
            }
            Insn::CopyWide { dst, src } => copy_wide(&mut p.words, *dst, *src),
            Insn::CopyVariable { dst, src } => copy_variable(&mut p.words, *dst, *src),
            Insn::CopyHeader { dst, src } => copy_header(self.program, &mut p.words, *dst, *src),
            Insn::CopyStack { dst, src } => copy_stack(self.program, &mut p.words, *dst, *src),
            Insn::AddHeader(h) => add_header(self.program, p, *h),
            Insn::RemoveHeader(h) => remove_header(self.program, p, *h),
            Insn::Push { stack, count } => {
                shift_stack(self.program, &mut p.words, *stack, *count, true);
            }
            Insn::Pop { stack, count } => {
                shift_stack(self.program, &mut p.words, *stack, *count, false);
            }
            Insn::Exit => p.requests.exit = true,
            Insn::MarkToDrop => {
                let std = &self.program.std;
                if let Some(f) = std.egress_spec {
                    set_word(&mut p.words, f.slot, u64::from(self.drop_port));
                }
                if let Some(f) = std.mcast_grp {
                    set_word(&mut p.words, f.slot, 0);
                }
            }
            Insn::CloneIngress { session, list } | Insn::CloneEgress { session, list } => {
                let env = self.env(p, args);
                p.requests.clone = Some((
                    eval::low64(session, env) as u32,
                    eval::low64(list, env) as u32,
                ));
            }
            Insn::Resubmit { list } => {
                p.requests.resubmit = Some(eval::low64(list, self.env(p, args)) as u32);
            }
            Insn::Recirculate { list } => {
                p.requests.recirculate = Some(eval::low64(list, self.env(p, args)) as u32);
            }
            Insn::Truncate { bytes } => {
                let n = eval::low64(bytes, self.env(p, args)) as u32;
                let present = p.requests.truncate_bytes.unwrap_or(u32::MAX);
                p.requests.truncate_bytes = Some(n.min(present));
            }
            Insn::Digest { list } => {
                p.requests.digest = Some(eval::low64(list, self.env(p, args)) as u32);
            }
            Insn::Hash {
                dst,
                base,
                calculation,
                max,
            } => self.hash(*dst, base, *calculation, max, args, p),
            Insn::Random { dst, low, high } => {
                let env = self.env(p, args);
                let (low, high) = (eval::low64(low, env), eval::low64(high, env));
                let r = self.cells.next_random();
                let v = match high.checked_sub(low).and_then(|d| d.checked_add(1)) {
                    Some(n) => low + r % n,
                    None if high >= low => r,
                    None => low,
                };
                store_number(&mut p.words, *dst, v);
            }
            Insn::Count { counter, index } => {
                let i = eval::index(index, self.env(p, args));
                let cell = self.cells.counters.get_mut(*counter as usize);
                if let Some(c) = cell.and_then(|c| c.get_mut(i)) {
                    c.packets = c.packets.wrapping_add(1);
                    c.bytes = c.bytes.wrapping_add(u64::from(p.ingress_bytes));
                }
            }
            Insn::Meter { meter, index, dst } => {
                let i = eval::index(index, self.env(p, args));
                let colour = self.meter(*meter, i, p.ingress_bytes);
                store_number(&mut p.words, *dst, colour);
            }
            Insn::Assert { condition, what } => {
                if !eval::truth(condition, self.env(p, args)) {
                    p.requests.failed = true;
                    p.requests.exit = true;
                    self.cells.failed_assertions += 1;
                    if self.cells.failed_assertions.is_power_of_two() {
                        tracing::warn!(
                            count = self.cells.failed_assertions,
                            "assertion of the P4 program failed, packet dropped: {what}"
                        );
                    }
                }
            }
            Insn::Log { format, args: list } => {
                if tracing::enabled!(tracing::Level::INFO) {
                    let env = self.env(p, args);
                    let mut text = format.clone();
                    for a in list {
                        text = text.replacen("{}", &eval::display(a, env), 1);
                    }
                    tracing::info!(target: "tidemark_switch::p4", "{text}");
                }
            }
            // Handled in `run`.
            Insn::SetConst(_)
            | Insn::SetConsts(_)
            | Insn::Copy { .. }
            | Insn::SetArg { .. }
            | Insn::Set64 { .. }
            | Insn::Jump(_)
            | Insn::JumpIfZero { .. }
            | Insn::RegisterRead { .. }
            | Insn::RegisterWrite { .. } => {}
        }
    }

    pub fn meter(&mut self, meter: u32, index: usize, bytes: u32) -> u64 {
        let by_bytes = self
            .program
            .meters
            .get(meter as usize)
            .is_some_and(|m| m.bytes);
        let amount = if by_bytes { f64::from(bytes) } else { 1.0 };
        let now = self.now_us;
        self.cells
            .meters
            .get_mut(meter as usize)
            .and_then(|m| m.get_mut(index))
            .map_or(0, |m| m.colour(now, amount))
    }

    /// A cell that does not exist leaves the destination as it is.
    fn register_read(&mut self, dst: FieldRef, register: u32, index: usize, p: &mut Packet) {
        let Some(cell) = self
            .cells
            .registers
            .get(register as usize)
            .and_then(|r| r.cell(index))
        else {
            return;
        };
        if let ([v], true) = (cell, dst.width <= 64) {
            dst.set(&mut p.words, *v);
            return;
        }
        copy_words(&mut p.words, dst, cell);
    }

    fn register_write(
        &mut self,
        register: u32,
        index: &Compiled,
        value: &Compiled,
        args: &[u64],
        p: &mut Packet,
    ) {
        let env = Env {
            program: self.program,
            words: &p.words,
            args,
        };
        let i = eval::index(index, env);
        let Some(r) = self.cells.registers.get_mut(register as usize) else {
            return;
        };
        let width = r.width;
        if let Some(cell) = r.cell_mut(i) {
            if let [v] = cell {
                *v = eval::low64(value, env) & mask64(width);
            } else {
                eval::store_words(value, env, width, cell);
            }
        }
    }

    fn hash(
        &mut self,
        dst: FieldRef,
        base: &Compiled,
        calculation: u32,
        max: &Compiled,
        args: &[u64],
        p: &mut Packet,
    ) {
        let Some(c) = self.program.calculations.get(calculation as usize) else {
            return;
        };
        let env = Env {
            program: self.program,
            words: &p.words,
            args,
        };
        let (base, max) = (eval::low64(base, env), eval::low64(max, env));
        let h = calculate(
            c,
            self.program,
            &p.words,
            p.payload(),
            &mut self.cells.scratch,
            &mut self.cells.round_robin,
        );
        store_number(&mut p.words, dst, base.wrapping_add(h % max.max(1)));
    }
}

#[inline(always)]
fn set_constant(words: &mut [u64], c: &Constant) {
    if let Some(w) = words.get_mut(c.slot as usize) {
        *w = (*w & c.keep) | c.value;
    }
}

/// Stores a number of at most 64 bits.
pub fn store_number(words: &mut [u64], dst: FieldRef, v: u64) {
    if dst.width <= 64 {
        dst.set(words, v);
    } else {
        copy_words(words, dst, &[v]);
    }
}

/// Right-aligned copy, cut to the destination's width.
fn copy_words(words: &mut [u64], dst: FieldRef, src: &[u64]) {
    if dst.width <= 64 && !dst.variable {
        dst.set(words, src.last().copied().unwrap_or(0));
        return;
    }
    let start = dst.slot as usize;
    if let Some(out) = words.get_mut(start..start + words_for(dst.width)) {
        for (i, w) in out.iter_mut().rev().enumerate() {
            *w = src
                .len()
                .checked_sub(i + 1)
                .and_then(|n| src.get(n))
                .copied()
                .unwrap_or(0);
        }
        mask_words(out, dst.width);
    }
}

pub fn store(program: &Program, value: &Compiled, args: &[u64], dst: FieldRef, p: &mut Packet) {
    let env = Env {
        program,
        words: &p.words,
        args,
    };
    if dst.width <= 64 {
        let v = eval::low64(value, env);
        dst.set(&mut p.words, v);
        return;
    }
    // Wide results are rare enough for an allocation.
    let mut out = vec![0u64; words_for(dst.width)];
    eval::store_words(value, env, dst.width, &mut out);
    copy_words(&mut p.words, dst, &out);
}

fn copy_wide(words: &mut [u64], dst: FieldRef, src: FieldRef) {
    if src.width <= 64 {
        return copy_words(words, dst, &[src.get(words)]);
    }
    let (to, from) = (words_for(dst.width), words_for(src.width));
    let (d, s) = (dst.slot as usize, src.slot as usize);
    if to == from && s + from <= words.len() && d + to <= words.len() {
        words.copy_within(s..s + from, d);
    } else {
        let v = own_words(words, src).to_vec();
        copy_words(words, dst, &v);
    }
}

/// Copies value and length; a value longer than the destination is cut at its
/// end.
fn copy_variable(words: &mut [u64], dst: FieldRef, src: FieldRef) {
    let bits = field_bits(words, src);
    let bytes = bytes_from_words(own_words(words, src), bits);
    let kept = bits.min(dst.width);
    let out = words_from_bytes(
        bytes.get(..(kept / 8) as usize).unwrap_or(&bytes),
        dst.width,
    );
    copy_words(words, dst, &out);
    set_word(words, dst.slot.wrapping_sub(1), u64::from(kept));
}

/// An invalid source makes the destination invalid.
pub fn copy_header(program: &Program, words: &mut [u64], dst: u32, src: u32) {
    let (Some(d), Some(s)) = (
        program.headers.get(dst as usize),
        program.headers.get(src as usize),
    ) else {
        return;
    };
    if word(words, s.valid) == 0 {
        set_word(words, d.valid, 0);
        return;
    }
    if d.words.len() == s.words.len() && s.words.end <= words.len() && d.words.end <= words.len() {
        words.copy_within(s.words.clone(), d.words.start);
        set_word(words, d.valid, 1);
    }
}

fn copy_stack(program: &Program, words: &mut [u64], dst: u32, src: u32) {
    let (Some(d), Some(s)) = (
        program.stacks.get(dst as usize),
        program.stacks.get(src as usize),
    ) else {
        return;
    };
    for (to, from) in d.headers.iter().zip(&s.headers) {
        copy_header(program, words, *to, *from);
    }
    set_word(words, d.next, word(words, s.next));
}

/// Bytes the header takes in the packet.
fn header_bytes(program: &Program, words: &[u64], h: u32) -> u32 {
    program.headers.get(h as usize).map_or(0, |h| {
        let variable = h
            .variable
            .and_then(|i| h.fields.get(i))
            .map_or(0, |f| field_bits(words, f.field));
        (h.fixed_bits + variable) / 8
    })
}

fn add_header(program: &Program, p: &mut Packet, h: u32) {
    let Some(header) = program.headers.get(h as usize) else {
        return;
    };
    if word(&p.words, header.valid) != 0 {
        return;
    }
    if let Some(fields) = p.words.get_mut(header.words.clone()) {
        fields.fill(0);
    }
    set_word(&mut p.words, header.valid, 1);
    p.length_bytes += header_bytes(program, &p.words, h);
}

fn remove_header(program: &Program, p: &mut Packet, h: u32) {
    let Some(header) = program.headers.get(h as usize) else {
        return;
    };
    if word(&p.words, header.valid) == 0 {
        return;
    }
    set_word(&mut p.words, header.valid, 0);
    let bytes = header_bytes(program, &p.words, h);
    p.length_bytes = p.length_bytes.saturating_sub(bytes);
}

/// `push_front` moves elements to higher indices, `pop_front` to lower ones;
/// what becomes free is invalid.
fn shift_stack(program: &Program, words: &mut [u64], stack: u32, count: u32, push: bool) {
    let Some(s) = program.stacks.get(stack as usize) else {
        return;
    };
    let n = s.headers.len();
    let count = (count as usize).min(n);
    let invalidate = |words: &mut [u64], i: usize| {
        if let Some(h) = s
            .headers
            .get(i)
            .and_then(|h| program.headers.get(*h as usize))
        {
            set_word(words, h.valid, 0);
        }
    };
    let move_to = |words: &mut [u64], to: usize, from: usize| {
        if let (Some(t), Some(f)) = (s.headers.get(to), s.headers.get(from)) {
            copy_header(program, words, *t, *f);
        }
    };
    let next = word(words, s.next) as usize;
    let next = if push {
        for i in (count..n).rev() {
            move_to(words, i, i - count);
        }
        (0..count).for_each(|i| invalidate(words, i));
        (next + count).min(n)
    } else {
        for i in 0..n - count {
            move_to(words, i, i + count);
        }
        (n - count..n).for_each(|i| invalidate(words, i));
        next.saturating_sub(count)
    };
    set_word(words, s.next, next as u64);
}
