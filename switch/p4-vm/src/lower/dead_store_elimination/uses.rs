// SPDX-License-Identifier: Apache-2.0
//! Finds the words that code reads.

use super::Reads;
use crate::bytecode::{Op, Word};
use p4_ir::Expr;
use p4_ir::HeaderRef;
use p4_ir::Primitive;

impl Reads<'_> {
    fn words(&mut self, list: &[Word]) {
        // With an empty mask the source is not read. The kept bits of the word itself matter only
        // if other code reads the word.
        for w in list.iter().filter(|w| w.mask != 0) {
            self.slot(w.from);
        }
    }

    pub(super) fn op(&mut self, op: &Op) {
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
            Op::Eval(c) | Op::IndexEval(c) => self.expr(&c.typed.expr),
            Op::JumpIfFalse { condition, .. } => self.expr(&condition.typed.expr),
            Op::Hash(h) => h.input.slots().for_each(|s| self.slot(s)),
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

    fn insn(&mut self, i: &Primitive) {
        match i {
            Primitive::Copy { src, .. }
            | Primitive::CopyWide { src, .. }
            | Primitive::CopyVariable { src, .. } => self.field(*src),
            Primitive::CopyHeader { dst, src } => {
                self.index(dst);
                self.header_ref(src);
            }
            Primitive::CopyUnion { pairs } => pairs.iter().for_each(|(_, b)| self.header_id(*b)),
            Primitive::AddHeader(h) | Primitive::RemoveHeader(h) => self.index(h),
            Primitive::CopyStack { src, .. } => self.stack(*src),
            Primitive::Push { stack, .. } | Primitive::Pop { stack, .. } => self.stack(*stack),
            Primitive::Set64 { value: c, .. }
            | Primitive::Set { value: c, .. }
            | Primitive::JumpIfZero { condition: c, .. }
            | Primitive::Resubmit { list: c }
            | Primitive::Recirculate { list: c }
            | Primitive::Truncate { bytes: c }
            | Primitive::Digest { list: c }
            | Primitive::Count { index: c, .. }
            | Primitive::Meter { index: c, .. }
            | Primitive::RegisterRead { index: c, .. }
            | Primitive::Assert { condition: c, .. } => self.expr(&c.expr),
            Primitive::SetAt { index, value, .. }
            | Primitive::RegisterWrite { index, value, .. } => {
                self.expr(&index.expr);
                self.expr(&value.expr);
            }
            Primitive::CloneIngress { session, list }
            | Primitive::CloneEgress { session, list } => {
                self.expr(&session.expr);
                self.expr(&list.expr);
            }
            Primitive::Hash {
                base,
                calculation,
                max,
                ..
            } => {
                self.expr(&base.expr);
                self.expr(&max.expr);
                self.calculation_id(*calculation);
            }
            Primitive::Random { low, high, .. } => {
                self.expr(&low.expr);
                self.expr(&high.expr);
            }
            Primitive::Log { args, .. } => args.iter().for_each(|c| self.expr(&c.expr)),
            Primitive::SetConst(_)
            | Primitive::SetArg { .. }
            | Primitive::Jump(_)
            | Primitive::Exit
            | Primitive::NoOp
            | Primitive::MarkToDrop { .. } => {}
        }
    }

    /// Collects the words of the index that selects the header.
    fn index(&mut self, h: &HeaderRef) {
        if let HeaderRef::At { index, .. } = h {
            self.expr(index);
        }
    }

    fn header_ref(&mut self, h: &HeaderRef) {
        self.index(h);
        match h {
            HeaderRef::Of(h) => self.header_id(*h),
            HeaderRef::At { stack, .. } => self.stack(*stack),
        }
    }

    pub(super) fn expr(&mut self, e: &Expr) {
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
            Expr::HeadersEqual(p) => {
                self.header_ref(&p.0);
                self.header_ref(&p.1);
            }
            Expr::StacksEqual(a, b) => {
                self.stack(*a);
                self.stack(*b);
            }
            Expr::Const(_) | Expr::BigConst(_) | Expr::Arg { .. } | Expr::LastIndex(_) => {}
        }
    }
}
