// SPDX-License-Identifier: Apache-2.0
//! What code reads.

use super::Reads;
use crate::bmv2::expr::{Compiled, Expr};
use crate::bmv2::ir::Insn;
use crate::bmv2::op::{Op, Word};

impl Reads<'_> {
    fn words(&mut self, list: &[Word]) {
        // Without a mask the source is not read; what is kept of the word itself
        // matters only if somebody reads it.
        for w in list.iter().filter(|w| w.mask != 0) {
            self.slot(w.from);
        }
    }

    pub fn op(&mut self, op: &Op) {
        match op {
            Op::Words(list) => self.words(list),
            Op::Affine(list) => list.iter().for_each(|a| self.bits(a.from)),
            Op::Choose(c) => {
                self.bits(c.test);
                let sources = [c.yes.from, c.no.from].into_iter();
                sources.filter(|b| b.mask != 0).for_each(|b| self.bits(b));
            }
            Op::Load(b)
            | Op::LoadSigned { bits: b, .. }
            | Op::Field(_, b)
            | Op::IndexField(b)
            | Op::JumpIfField { with: b, .. } => self.bits(*b),
            Op::JumpIfClear { slot, .. }
            | Op::JumpIfSet { slot, .. }
            | Op::JumpIfEqual { slot, .. }
            | Op::JumpUnlessEqual { slot, .. }
            | Op::JumpIf { slot, .. } => self.slot(*slot),
            Op::Eval(c) | Op::IndexEval(c) => self.compiled(c),
            Op::JumpIfFalse { condition, .. } => self.compiled(condition),
            Op::Hash(h) => h.gather.slots().for_each(|s| self.slot(s)),
            Op::Other(i) => self.insn(i),
            // These read the action's data, the accumulator or headers.
            Op::ArgWords(_)
            | Op::LoadArg(_)
            | Op::Imm(_)
            | Op::Add(_)
            | Op::Mul(_)
            | Op::And(_)
            | Op::Or(_)
            | Op::Xor(_)
            | Op::Shl(_)
            | Op::Shr(_)
            | Op::Clamp { .. }
            | Op::SignExtend(_)
            | Op::Arg(..)
            | Op::Is(..)
            | Op::Hold
            | Op::Held(_)
            | Op::Put(_)
            | Op::Index
            | Op::IndexImm(_)
            | Op::ReadCell { .. }
            | Op::WriteCell { .. }
            | Op::Count { .. }
            | Op::Truncate
            | Op::AddHeaders(_)
            | Op::RemoveHeader { .. }
            | Op::Jump(_)
            | Op::Back(_)
            | Op::JumpIfArg { .. }
            | Op::Call(_)
            | Op::Table(_)
            | Op::End
            | Op::EndIfExit => {}
        }
    }

    fn insn(&mut self, i: &Insn) {
        match i {
            Insn::Copy { src, .. }
            | Insn::CopyWide { src, .. }
            | Insn::CopyVariable { src, .. } => self.field(*src),
            Insn::CopyHeader { src, .. } => self.header_id(*src),
            Insn::CopyStack { src, .. } => self.stack(*src),
            Insn::Push { stack, .. } | Insn::Pop { stack, .. } => self.stack(*stack),
            Insn::Set64 { value: c, .. }
            | Insn::Set { value: c, .. }
            | Insn::JumpIfZero { condition: c, .. }
            | Insn::Resubmit { list: c }
            | Insn::Recirculate { list: c }
            | Insn::Truncate { bytes: c }
            | Insn::Digest { list: c }
            | Insn::Count { index: c, .. }
            | Insn::Meter { index: c, .. }
            | Insn::RegisterRead { index: c, .. }
            | Insn::Assert { condition: c, .. } => self.compiled(c),
            Insn::SetAt { index, value, .. } | Insn::RegisterWrite { index, value, .. } => {
                self.compiled(index);
                self.compiled(value);
            }
            Insn::CloneIngress { session, list } | Insn::CloneEgress { session, list } => {
                self.compiled(session);
                self.compiled(list);
            }
            Insn::Hash {
                base,
                calculation,
                max,
                ..
            } => {
                self.compiled(base);
                self.compiled(max);
                self.calculation_id(*calculation);
            }
            Insn::Random { low, high, .. } => {
                self.compiled(low);
                self.compiled(high);
            }
            Insn::Log { args, .. } => args.iter().for_each(|c| self.compiled(c)),
            Insn::SetConst(_)
            | Insn::SetArg { .. }
            | Insn::AddHeader(_)
            | Insn::RemoveHeader(_)
            | Insn::Jump(_)
            | Insn::Exit
            | Insn::MarkToDrop => {}
        }
    }

    pub fn compiled(&mut self, c: &Compiled) {
        self.expr(&c.expr);
    }

    fn expr(&mut self, e: &Expr) {
        match e {
            Expr::Field(f) => self.field(*f),
            Expr::StackLast { stack, .. } => self.stack(*stack),
            Expr::StackAt { stack, index, .. } => {
                self.stack(*stack);
                self.expr(index);
            }
            Expr::Un(_, x) | Expr::Wrap(_, _, x) => self.expr(x),
            Expr::Bin(_, p) => {
                self.expr(&p.0);
                self.expr(&p.1);
            }
            Expr::Cond(p) => {
                self.expr(&p.0);
                self.expr(&p.1);
                self.expr(&p.2);
            }
            Expr::HeadersEqual(a, b) => {
                self.header_id(*a);
                self.header_id(*b);
            }
            Expr::StacksEqual(a, b) => {
                self.stack(*a);
                self.stack(*b);
            }
            Expr::Const(_) | Expr::BigConst(_) | Expr::Arg { .. } | Expr::LastIndex(_) => {}
        }
    }
}
