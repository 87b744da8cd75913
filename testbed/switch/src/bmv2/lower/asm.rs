// SPDX-License-Identifier: Apache-2.0
//! A list of steps under construction.

use super::words::{Assign, Gathered};
use crate::bmv2::op::Op;

/// A place to jump to that need not be known yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label(u32);

impl Label {
    /// As a target, until [`Asm::finish`] replaces it.
    pub fn target(self) -> u32 {
        self.0
    }
}

#[derive(Default)]
pub struct Asm {
    ops: Vec<Op>,
    labels: Vec<u32>,
    gathered: Gathered,
    /// Steps before this position stay as they are.
    sealed: usize,
}

impl Asm {
    pub fn label(&mut self) -> Label {
        self.labels.push(u32::MAX);
        Label(self.labels.len() as u32 - 1)
    }

    /// The label is here. More labels may be at one place.
    pub fn place(&mut self, l: Label) {
        self.flush();
        self.sealed = self.ops.len();
        if let Some(x) = self.labels.get_mut(l.0 as usize) {
            *x = self.ops.len() as u32;
        }
    }

    pub fn here(&mut self) -> u32 {
        self.flush();
        self.sealed = self.ops.len();
        self.ops.len() as u32
    }

    pub fn flush(&mut self) {
        self.ops.extend(self.gathered.take());
    }

    /// A step that must stay where it is.
    pub fn push(&mut self, op: Op) {
        self.flush();
        self.ops.push(op);
    }

    /// Steps that touch nothing but these words (and no packet state that
    /// assignments depend on).
    pub fn push_local(&mut self, ops: Vec<Op>, reads: &[u32], writes: &[u32]) {
        if !self.gathered.independent(reads, writes) {
            self.flush();
        }
        for op in ops {
            self.join(op);
        }
    }

    fn join(&mut self, op: Op) {
        let open = self.ops.len() > self.sealed;
        match (self.ops.last_mut(), op) {
            (Some(Op::AddHeaders(list)), Op::AddHeaders(more)) if open => list.extend(more),
            (_, op) => self.ops.push(op),
        }
    }

    pub fn assign(&mut self, a: Assign) {
        if !self.gathered.add(a) {
            self.flush();
            self.gathered.add(a);
        }
    }

    pub fn finish(mut self) -> Box<[Op]> {
        self.flush();
        for op in &mut self.ops {
            if let Op::Jump(target)
            | Op::JumpIfClear { target, .. }
            | Op::JumpIfSet { target, .. }
            | Op::JumpIfEqual { target, .. }
            | Op::JumpUnlessEqual { target, .. }
            | Op::JumpIf { target, .. }
            | Op::JumpIfField { target, .. }
            | Op::JumpIfArg { target, .. }
            | Op::JumpIfFalse { target, .. } = op
            {
                // A label that was not placed ends the list.
                *target = self
                    .labels
                    .get(*target as usize)
                    .copied()
                    .unwrap_or(u32::MAX);
            }
        }
        self.ops.into()
    }
}
