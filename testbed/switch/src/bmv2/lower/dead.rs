// SPDX-License-Identifier: Apache-2.0
//! Words of metadata that nothing in a program reads. p4c's temporaries become
//! such when their readers read what was copied into them.

use crate::bmv2::bits::words_for;
use crate::bmv2::expr::{Compiled, Expr, FieldRef};
use crate::bmv2::ir::{
    CalcInput, Calculation, Header, Insn, KeySource, ParseOp, Program, StandardMetadata,
};
use crate::bmv2::op::{Bits, Op, Word};

/// One per word of the header vector.
pub fn words(program: &Program) -> Vec<bool> {
    let mut r = Reads {
        program,
        read: vec![true; program.words],
    };
    for h in program.headers.iter().filter(|h| h.metadata) {
        if let Some(list) = r.read.get_mut(h.words.clone()) {
            list.fill(false);
        }
    }
    r.standard(&program.std);
    r.code();
    r.parser();
    r.tables();
    r.checksums();
    for list in program.field_lists.values() {
        list.parts.iter().for_each(|f| r.field(*f));
        list.words
            .iter()
            .for_each(|w| w.clone().for_each(|s| r.slot(s)));
    }
    for list in program.learn_lists.values() {
        list.fields.iter().for_each(|f| r.field(*f));
    }
    r.read.into_iter().map(|read| !read).collect()
}

struct Reads<'a> {
    program: &'a Program,
    read: Vec<bool>,
}

impl Reads<'_> {
    fn slot(&mut self, slot: u32) {
        if let Some(x) = self.read.get_mut(slot as usize) {
            *x = true;
        }
    }

    fn bits(&mut self, b: Bits) {
        self.slot(b.slot);
    }

    fn field(&mut self, f: FieldRef) {
        let end = f.slot.saturating_add(words_for(f.width) as u32);
        (f.slot..end).for_each(|s| self.slot(s));
        if f.variable {
            self.slot(f.slot.wrapping_sub(1));
        }
    }

    fn header(&mut self, h: Option<&Header>) {
        if let Some(h) = h {
            h.words.clone().for_each(|s| self.slot(s as u32));
        }
    }

    fn header_id(&mut self, id: u32) {
        self.header(self.program.headers.get(id as usize));
    }

    fn stack(&mut self, id: u32) {
        if let Some(s) = self.program.stacks.get(id as usize) {
            s.headers.iter().for_each(|h| self.header_id(*h));
        }
    }

    /// The traffic manager reads these, or may come to.
    fn standard(&mut self, s: &StandardMetadata) {
        for f in [
            s.ingress_port,
            s.egress_spec,
            s.egress_port,
            s.instance_type,
            s.packet_length,
            s.enq_timestamp,
            s.enq_qdepth,
            s.deq_timedelta,
            s.deq_qdepth,
            s.ingress_global_timestamp,
            s.egress_global_timestamp,
            s.mcast_grp,
            s.egress_rid,
            s.checksum_error,
            s.parser_error,
            s.priority,
            s.qid,
        ]
        .into_iter()
        .flatten()
        {
            self.field(f);
        }
    }

    fn code(&mut self) {
        let p = self.program;
        let actions = p.actions.iter().map(|a| &a.code);
        for list in actions.chain([&p.ingress.ops, &p.egress.ops, &p.deparse_code]) {
            list.iter().for_each(|op| self.op(op));
        }
    }

    fn parser(&mut self) {
        for s in &self.program.parse_states {
            for op in &s.ops {
                match op {
                    ParseOp::ExtractNextVariable { bits, .. }
                    | ParseOp::ExtractVariable { bits, .. }
                    | ParseOp::Advance { bits } => self.compiled(bits),
                    ParseOp::Verify { condition, error } => {
                        self.compiled(condition);
                        self.compiled(error);
                    }
                    ParseOp::Run(list) => list.iter().for_each(|op| self.op(op)),
                    ParseOp::Extract(_)
                    | ParseOp::ExtractPacked(_)
                    | ParseOp::ExtractNext(_)
                    | ParseOp::SetLookahead { .. } => {}
                }
            }
            for k in &s.key {
                match &k.source {
                    KeySource::Field(f) => self.field(*f),
                    KeySource::StackLast { stack, .. } => self.stack(*stack),
                    KeySource::Lookahead { .. } => {}
                }
            }
        }
    }

    fn tables(&mut self) {
        for t in &self.program.tables {
            t.keys.iter().for_each(|k| self.field(k.field));
        }
        for p in &self.program.profiles {
            p.selector.iter().for_each(|c| self.calculation(c));
        }
    }

    fn checksums(&mut self) {
        for c in &self.program.checksums {
            self.field(c.target);
            c.guard.iter().for_each(|g| self.slot(g.slot));
            c.condition.iter().for_each(|c| self.compiled(c));
            self.calculation_id(c.calculation);
        }
    }

    fn calculation_id(&mut self, id: u32) {
        if let Some(c) = self.program.calculations.get(id as usize) {
            self.calculation(c);
        }
    }

    fn calculation(&mut self, c: &Calculation) {
        for i in &c.input {
            match i {
                CalcInput::Run { pieces, valid } => {
                    pieces.iter().for_each(|p| self.slot(p.slot));
                    valid.iter().for_each(|v| self.slot(*v));
                }
                CalcInput::Field { field, valid } => {
                    self.field(*field);
                    valid.iter().for_each(|v| self.slot(*v));
                }
                CalcInput::Header(h) => self.header_id(*h),
                CalcInput::Const { .. } | CalcInput::Payload => {}
            }
        }
    }

    fn words(&mut self, list: &[Word]) {
        // Without a mask the source is not read; what is kept of the word itself
        // matters only if somebody reads it.
        for w in list.iter().filter(|w| w.mask != 0) {
            self.slot(w.from);
        }
    }

    fn op(&mut self, op: &Op) {
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

    fn compiled(&mut self, c: &Compiled) {
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
