// SPDX-License-Identifier: Apache-2.0
//! Instructions that are rare or long; the others are in [`super::run`].

use super::eval::{self, Env, set_word, word};
use super::fields::{copy_variable, copy_wide, copy_words, store, store_number};
use super::hash::calculate;
use super::headers::{add_header, copy_header, copy_stack, remove_header, shift_stack};
use super::packet::Packet;
use super::profiles::ProfileState;
use super::state::Cells;
use super::tables::TableState;
use crate::bmv2::bits::mask64;
use crate::bmv2::expr::{Compiled, FieldRef};
use crate::bmv2::ir::{Constant, Insn, Program};

pub struct Exec<'a> {
    pub program: &'a Program,
    pub cells: &'a mut Cells,
    /// State of the tables and profiles; none where there are no tables to apply.
    pub tables: &'a mut [TableState],
    pub profiles: &'a [ProfileState],
    pub drop_port: u32,
    pub now_us: u64,
    /// Tables that the packet may still pass: ends a loop in a malformed program.
    pub passes: usize,
}

impl Exec<'_> {
    pub fn env<'e>(&'e self, p: &'e Packet, args: &'e [u64]) -> Env<'e> {
        Env {
            program: self.program,
            words: &p.words,
            args,
        }
    }

    pub fn rare(&mut self, i: &Insn, args: &[u64], p: &mut Packet) {
        match i {
            Insn::Set { dst, value } | Insn::Set64 { dst, value } => {
                store(self.program, value, args, *dst, p)
            }
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
            Insn::SetConst(c) => set_constant(&mut p.words, c),
            Insn::Copy { dst, src } => {
                let v = src.get(&p.words);
                dst.set(&mut p.words, v);
            }
            Insn::SetArg { dst, offset } => dst.set(&mut p.words, word(args, *offset)),
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
            // Jumps are steps.
            Insn::Jump(_) | Insn::JumpIfZero { .. } => {}
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
        let max = max.max(1);
        // A division takes as long as a short hash.
        let h = if max.is_power_of_two() {
            h & (max - 1)
        } else {
            h % max
        };
        store_number(&mut p.words, dst, base.wrapping_add(h));
    }
}

#[inline(always)]
fn set_constant(words: &mut [u64], c: &Constant) {
    if let Some(w) = words.get_mut(c.slot as usize) {
        *w = (*w & c.keep) | c.value;
    }
}
