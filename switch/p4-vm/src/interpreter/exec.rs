// SPDX-License-Identifier: Apache-2.0
//! Primitives without bytecode of their own: rare or long ones.

use super::env::Env;
use super::eval;
use super::fields::{copy_variable, copy_wide, copy_words, store, store_number};
use super::hash::calculate;
use super::headers::{add_header, copy_header, copy_stack, remove_header, shift_stack};
use crate::image::Image;
use crate::packet::Packet;
use crate::state::cells::Cells;
use crate::state::profiles::ProfileState;
use crate::state::tables::TableState;
use crate::vector::{set_word, word};
use p4_ir::FieldRef;
use p4_ir::bits::mask64;
use p4_ir::{Constant, Primitive, TypedExpr};

pub(crate) struct Exec<'a> {
    pub image: &'a Image,
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
    pub(crate) fn env<'e>(&'e self, p: &'e Packet, args: &'e [u64]) -> Env<'e> {
        Env {
            program: &self.image.program,
            words: &p.words,
            args,
        }
    }

    pub(crate) fn primitive(&mut self, i: &Primitive, args: &[u64], p: &mut Packet) {
        match i {
            Primitive::Set { dst, value } | Primitive::Set64 { dst, value } => {
                store(&self.image.program, value, args, *dst, p)
            }
            Primitive::SetAt {
                stack,
                field,
                index,
                value,
            } => {
                let env = self.env(p, args);
                let i = eval::index(index, env);
                if let Some(dst) = eval::stack_field(env, *stack, i, *field) {
                    store(&self.image.program, value, args, dst, p);
                }
            }
            Primitive::CopyWide { dst, src } => copy_wide(&mut p.words, *dst, *src),
            Primitive::CopyVariable { dst, src } => copy_variable(&mut p.words, *dst, *src),
            Primitive::CopyHeader { dst, src } => {
                copy_header(&self.image.program, &mut p.words, *dst, *src)
            }
            Primitive::CopyStack { dst, src } => {
                copy_stack(&self.image.program, &mut p.words, *dst, *src)
            }
            Primitive::AddHeader(h) => add_header(&self.image.program, p, *h),
            Primitive::RemoveHeader(h) => remove_header(&self.image.program, p, *h),
            Primitive::Push { stack, count } => {
                shift_stack(&self.image.program, &mut p.words, *stack, *count, true);
            }
            Primitive::Pop { stack, count } => {
                shift_stack(&self.image.program, &mut p.words, *stack, *count, false);
            }
            Primitive::Exit => p.requests.exit = true,
            Primitive::MarkToDrop => {
                let std = &self.image.program.std;
                if let Some(f) = std.egress_spec {
                    set_word(&mut p.words, f.slot, u64::from(self.drop_port));
                }
                if let Some(f) = std.mcast_grp {
                    set_word(&mut p.words, f.slot, 0);
                }
            }
            Primitive::CloneIngress { session, list }
            | Primitive::CloneEgress { session, list } => {
                let env = self.env(p, args);
                p.requests.clone = Some((
                    eval::low64(session, env) as u32,
                    eval::low64(list, env) as u32,
                ));
            }
            Primitive::Resubmit { list } => {
                p.requests.resubmit = Some(eval::low64(list, self.env(p, args)) as u32);
            }
            Primitive::Recirculate { list } => {
                p.requests.recirculate = Some(eval::low64(list, self.env(p, args)) as u32);
            }
            Primitive::Truncate { bytes } => {
                let n = eval::low64(bytes, self.env(p, args)) as u32;
                let present = p.requests.truncate_bytes.unwrap_or(u32::MAX);
                p.requests.truncate_bytes = Some(n.min(present));
            }
            Primitive::Digest { list } => {
                p.requests.digest = Some(eval::low64(list, self.env(p, args)) as u32);
            }
            Primitive::Hash {
                dst,
                base,
                calculation,
                max,
            } => self.hash(*dst, base, *calculation, max, args, p),
            Primitive::Random { dst, low, high } => {
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
            Primitive::Count { counter, index } => {
                let i = eval::index(index, self.env(p, args));
                let cell = self.cells.counters.get_mut(*counter as usize);
                if let Some(c) = cell.and_then(|c| c.get_mut(i)) {
                    c.packets = c.packets.wrapping_add(1);
                    c.bytes = c.bytes.wrapping_add(u64::from(p.ingress_bytes));
                }
            }
            Primitive::Meter { meter, index, dst } => {
                let i = eval::index(index, self.env(p, args));
                let colour = self.meter(*meter, i, p.ingress_bytes);
                store_number(&mut p.words, *dst, colour);
            }
            Primitive::Assert { condition, what } => {
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
            Primitive::Log { format, args: list } => {
                if tracing::enabled!(tracing::Level::INFO) {
                    let env = self.env(p, args);
                    let mut text = format.clone();
                    for a in list {
                        text = text.replacen("{}", &eval::display(a, env), 1);
                    }
                    tracing::info!(target: "tidemark_switch::p4", "{text}");
                }
            }
            Primitive::SetConst(c) => set_constant(&mut p.words, c),
            Primitive::Copy { dst, src } => {
                let v = src.get(&p.words);
                dst.set(&mut p.words, v);
            }
            Primitive::SetArg { dst, offset } => dst.set(&mut p.words, word(args, *offset)),
            Primitive::RegisterRead {
                dst,
                register,
                index,
            } => {
                let i = eval::index(index, self.env(p, args));
                self.register_read(*dst, *register, i, p);
            }
            Primitive::RegisterWrite {
                register,
                index,
                value,
            } => self.register_write(*register, index, value, args, p),
            // Jumps are bytecode.
            Primitive::Jump(_) | Primitive::JumpIfZero { .. } => {}
        }
    }

    pub(crate) fn meter(&mut self, meter: u32, index: usize, bytes: u32) -> u64 {
        let by_bytes = self
            .image
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
        index: &TypedExpr,
        value: &TypedExpr,
        args: &[u64],
        p: &mut Packet,
    ) {
        let env = Env {
            program: &self.image.program,
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
        base: &TypedExpr,
        calculation: u32,
        max: &TypedExpr,
        args: &[u64],
        p: &mut Packet,
    ) {
        let Some(c) = self.image.calculations.get(calculation as usize) else {
            return;
        };
        let env = Env {
            program: &self.image.program,
            words: &p.words,
            args,
        };
        let (base, max) = (eval::low64(base, env), eval::low64(max, env));
        let h = calculate(
            c,
            &self.image.program,
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
