// SPDX-License-Identifier: Apache-2.0
//! Executes primitives without bytecode of their own: rare or long ones.

use super::env::Env;
use super::eval;
use super::fields::{copy_variable, copy_wide, copy_words, store, store_number};
use super::hash::{below, calculate};
use super::headers::{add_header, copy_header, copy_stack, copy_union, remove_header, shift_stack};
use crate::image::Image;
use crate::packet::Packet;
use crate::state::cells::Cells;
use crate::state::profiles::ProfileState;
use crate::state::tables::TableState;
use p4_ir::FieldRef;
use p4_ir::bits::mask64;
use p4_ir::{Primitive, TypedExpr};

pub(crate) struct Exec<'a> {
    pub image: &'a Image,
    pub cells: &'a mut Cells,
    /// State of the tables and profiles; empty if there are no tables to apply.
    pub tables: &'a mut [TableState],
    pub profiles: &'a [ProfileState],
    pub now_us: u64,
    /// How many more tables the packet may pass: ends a loop in a malformed program.
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
        let image = self.image;
        let program = &image.program;
        match i {
            Primitive::Set { dst, value } | Primitive::Set64 { dst, value } => {
                store(program, value, args, *dst, p)
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
                    store(program, value, args, dst, p);
                }
            }
            Primitive::CopyWide { dst, src } => copy_wide(&mut p.words, *dst, *src),
            Primitive::CopyVariable { dst, src } => copy_variable(&mut p.words, *dst, *src),
            Primitive::CopyHeader { dst, src } => {
                let env = self.env(p, args);
                if let (Some(d), Some(s)) = (
                    eval::header(program, env, dst),
                    eval::header(program, env, src),
                ) {
                    copy_header(d, s, &mut p.words);
                }
            }
            Primitive::CopyUnion { pairs } => {
                copy_union(program, &mut p.words, pairs);
            }
            Primitive::CopyStack { dst, src } => copy_stack(program, &mut p.words, *dst, *src),
            Primitive::AddHeader(h) => {
                if let Some(h) = eval::header(program, self.env(p, args), h) {
                    add_header(h, p);
                }
            }
            Primitive::RemoveHeader(h) => {
                if let Some(h) = eval::header(program, self.env(p, args), h) {
                    remove_header(h, p);
                }
            }
            Primitive::Push { stack, count } => {
                shift_stack(program, &mut p.words, *stack, *count, true);
            }
            Primitive::Pop { stack, count } => {
                shift_stack(program, &mut p.words, *stack, *count, false);
            }
            Primitive::Exit => p.requests.exit = true,
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
            // Always bytecode.
            Primitive::MarkToDrop { .. }
            | Primitive::NoOp
            | Primitive::SetConst(_)
            | Primitive::Copy { .. }
            | Primitive::SetArg { .. }
            | Primitive::Count { .. }
            | Primitive::Truncate { .. }
            | Primitive::Jump(_)
            | Primitive::JumpIfZero { .. } => {}
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

    /// Reads a cell into the destination; does nothing if the cell does not exist.
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
        let h = below(calculate(c, p, self.cells), max);
        store_number(&mut p.words, dst, base.wrapping_add(h));
    }
}
