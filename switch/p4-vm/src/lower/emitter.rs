// SPDX-License-Identifier: Apache-2.0
//! Assembles a list of instructions.

use super::copy_propagation::Copies;
use super::def_use::DefUse;
use super::store_coalescing::{Assign, PendingStores};
use crate::bytecode::Op;
use p4_ir::Bits;

/// A jump target whose position need not be known yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Label(u32);

impl Label {
    /// Returns the label as a target, until [`Emitter::finish`] replaces it.
    pub(super) fn target(self) -> u32 {
        self.0
    }
}

#[derive(Default)]
pub(super) struct Emitter<'a> {
    /// Words that nothing reads, so that stores to them can be omitted.
    dead: &'a [bool],
    copies: Copies,
    ops: Vec<Op>,
    labels: Vec<u32>,
    pending: PendingStores,
    /// Position before which instructions stay as they are.
    sealed: usize,
}

impl<'a> Emitter<'a> {
    pub(super) fn new(dead: &'a [bool]) -> Self {
        Self {
            dead,
            ..Self::default()
        }
    }

    fn is_dead(&self, slot: u32) -> bool {
        self.dead.get(slot as usize).copied().unwrap_or(false)
    }

    pub(super) fn all_dead(&self, slot: u32, words: usize) -> bool {
        (slot..).take(words).all(|s| self.is_dead(s))
    }

    /// Returns the bits from which `b` was copied, or `b` itself.
    pub(super) fn origin(&self, b: Bits) -> Bits {
        self.copies.origin(b)
    }

    pub(super) fn label(&mut self) -> Label {
        self.labels.push(u32::MAX);
        Label(self.labels.len() as u32 - 1)
    }

    /// Places the label here. Several labels may share a position.
    pub(super) fn place(&mut self, l: Label) {
        self.copies.clear();
        self.flush();
        self.sealed = self.ops.len();
        if let Some(x) = self.labels.get_mut(l.0 as usize) {
            *x = self.ops.len() as u32;
        }
    }

    pub(super) fn here(&mut self) -> u32 {
        self.copies.clear();
        self.flush();
        self.sealed = self.ops.len();
        self.ops.len() as u32
    }

    pub(super) fn flush(&mut self) {
        self.ops.extend(self.pending.take());
    }

    /// Appends an instruction that must stay in place and may write anything.
    pub(super) fn push(&mut self, op: Op) {
        self.copies.clear();
        self.push_jump(op);
    }

    /// Appends an instruction that must stay in place and writes nothing.
    pub(super) fn push_jump(&mut self, op: Op) {
        self.flush();
        self.ops.push(op);
    }

    /// Appends instructions that touch only these words (and no packet state on which
    /// assignments depend).
    pub(super) fn push_local(&mut self, ops: Vec<Op>, reads: &[u32], writes: &[u32]) {
        for w in writes {
            self.copies.forget(*w, u64::MAX);
        }
        if !writes.is_empty() && writes.iter().all(|w| self.is_dead(*w)) {
            return;
        }
        if !self.pending.independent(reads, writes) {
            self.flush();
        }
        match <[Op; 1]>::try_from(ops) {
            Ok([op]) => self.join(op),
            Err(ops) => self.ops.extend(ops),
        }
    }

    /// Merges the instruction into an earlier one of its kind, if all instructions between
    /// them touch other words; otherwise appends it.
    fn join(&mut self, op: Op) {
        let touched = DefUse::of(&op);
        let open = self.ops.get_mut(self.sealed..).unwrap_or_default();
        for earlier in open.iter_mut().rev() {
            match (&mut *earlier, &op) {
                (Op::AddHeaders(list), Op::AddHeaders(more)) => return list.extend(more),
                (Op::Affine(list), Op::Affine(more)) => return list.extend(more),
                _ => {}
            }
            match (DefUse::of(earlier), &touched) {
                (Some(a), Some(b)) if a.independent(b) => {}
                _ => break,
            }
        }
        self.ops.push(op);
    }

    /// Appends an assignment. `copy`: if it is a plain copy, the field assigned and the field
    /// that is copied.
    pub(super) fn assign(&mut self, a: Assign, copy: Option<(Bits, Bits)>) {
        self.copies.forget(a.slot, !a.keep);
        if let Some((copy, of)) = copy {
            self.copies.learn(copy, of);
        }
        if !self.is_dead(a.slot) && !self.pending.add(a) {
            self.flush();
            self.pending.add(a);
        }
    }

    pub(super) fn finish(mut self) -> Box<[Op]> {
        self.flush();
        let mut back = Vec::new();
        for (at, op) in self.ops.iter_mut().enumerate() {
            let Some(target) = target(op) else { continue };
            // A label without a position ends the list.
            let place = self.labels.get(*target as usize).copied();
            *target = place.unwrap_or(u32::MAX);
            if *target as usize <= at {
                back.push(at);
            }
        }
        // Jumps lead forward: a jump back goes through an instruction after the end.
        if !back.is_empty() {
            self.ops.push(Op::End);
        }
        for at in back {
            let after = self.ops.len() as u32;
            if let Some(target) = self.ops.get_mut(at).and_then(target) {
                let to = std::mem::replace(target, after);
                self.ops.push(Op::Back(to));
            }
        }
        self.ops.into()
    }
}

/// Returns the jump target of the instruction, if it may jump.
fn target(op: &mut Op) -> Option<&mut u32> {
    match op {
        Op::Jump(target)
        | Op::JumpIfClear { target, .. }
        | Op::JumpIfSet { target, .. }
        | Op::JumpIfEqual { target, .. }
        | Op::JumpUnlessEqual { target, .. }
        | Op::JumpIf { target, .. }
        | Op::JumpIfField { target, .. }
        | Op::JumpIfArg { target, .. }
        | Op::JumpIfFalse { target, .. } => Some(target),
        _ => None,
    }
}
