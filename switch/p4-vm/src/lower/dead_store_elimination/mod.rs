// SPDX-License-Identifier: Apache-2.0
//! Dead-store elimination: finds metadata words that nothing in a program reads. p4c's
//! temporaries are dead once their readers read the originals.

mod uses;

use crate::image::{Code, ParseOp, ParseState};
use p4_ir::Bits;
use p4_ir::FieldRef;
use p4_ir::bits::words_for;
use p4_ir::{CalcInput, Calculation, Header, KeySource, Program};

/// Returns whether each word of the header vector is dead.
pub(super) fn dead_words(program: &Program, code: &Code, states: &[ParseState]) -> Vec<bool> {
    let mut r = Reads {
        program,
        read: vec![true; program.words],
    };
    for h in program.headers.iter().filter(|h| h.metadata) {
        if let Some(list) = r.read.get_mut(h.words.clone()) {
            list.fill(false);
        }
    }
    // The traffic manager may read these fields.
    program.std.fields().for_each(|f| r.field(f));
    r.code(code);
    r.parser(states);
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
        let stacks = &self.program.stacks;
        if let Some(s) = stacks.get(id as usize) {
            let others = s.others.iter().filter_map(|o| stacks.get(*o as usize));
            for s in std::iter::once(s).chain(others) {
                s.headers.iter().for_each(|h| self.header_id(*h));
            }
        }
    }

    fn code(&mut self, code: &Code) {
        let lists = code.actions.iter();
        for list in lists.chain([&code.ingress.ops, &code.egress.ops, &code.deparser]) {
            list.iter().for_each(|op| self.op(op));
        }
    }

    fn parser(&mut self, states: &[ParseState]) {
        for op in states.iter().flat_map(|s| &s.ops) {
            match op {
                ParseOp::ExtractNextVariable { bits, .. }
                | ParseOp::ExtractVariable { bits, .. }
                | ParseOp::Advance { bits } => self.expr(&bits.typed.expr),
                ParseOp::Verify { condition, error } => {
                    self.expr(&condition.typed.expr);
                    self.expr(&error.typed.expr);
                }
                ParseOp::Run(list) => list.iter().for_each(|op| self.op(op)),
                ParseOp::Extract(_)
                | ParseOp::ExtractWords(_)
                | ParseOp::ExtractNext(_)
                | ParseOp::SetLookahead { .. } => {}
            }
        }
        for k in self.program.parse_states.iter().flat_map(|s| &s.key) {
            match &k.source {
                KeySource::Field(f) => self.field(*f),
                KeySource::StackLast { stack, .. } => self.stack(*stack),
                KeySource::Lookahead { .. } => {}
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
            c.valid.iter().for_each(|v| self.slot(*v));
            c.condition.iter().for_each(|c| self.expr(&c.expr));
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
                CalcInput::Const { .. } | CalcInput::Payload => {}
            }
        }
    }
}
