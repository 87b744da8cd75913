// SPDX-License-Identifier: Apache-2.0
//! Lays out the nodes of a pipeline as one list: the nodes between two tables run without
//! interruption, and stores are coalesced across nodes.

use super::emitter::{Emitter, Label};
use super::{expressions, primitives};
use crate::bytecode::{Flow, Op};
use p4_ir::{END, NextNode, Node, Program};

/// Lays out all nodes that can be reached from `start`.
pub(super) fn flow<'a>(start: u32, program: &'a Program, dead: &'a [bool]) -> Flow {
    let entered = entries(start, program);
    let mut b = Builder {
        program,
        entered,
        labels: vec![None; program.nodes.len()],
        starts: vec![END; program.nodes.len()],
        waiting: vec![start],
        emitter: Emitter::new(dead),
    };
    while let Some(n) = b.waiting.pop() {
        b.from(n);
    }
    Flow {
        starts: b.starts.into(),
        ops: b.emitter.finish(),
    }
}

struct Builder<'a> {
    program: &'a Program,
    /// Whether each node is the target of a jump.
    entered: Vec<bool>,
    labels: Vec<Option<Label>>,
    starts: Vec<u32>,
    waiting: Vec<u32>,
    emitter: Emitter<'a>,
}

impl Builder<'_> {
    fn label(&mut self, node: u32) -> Option<Label> {
        let l = self.labels.get_mut(node as usize)?;
        Some(*l.get_or_insert_with(|| self.emitter.label()))
    }

    fn done(&self, node: u32) -> bool {
        self.starts.get(node as usize).is_none_or(|s| *s != END)
    }

    /// Lays out consecutive nodes until the path ends.
    fn from(&mut self, mut node: u32) {
        if self.done(node) {
            return;
        }
        let program = self.program;
        loop {
            let Some(n) = program.nodes.get(node as usize) else {
                return self.emitter.push_jump(Op::End);
            };
            if self.done(node) {
                if let Some(l) = self.label(node) {
                    self.emitter.push_jump(Op::Jump(l.target()));
                }
                return;
            }
            self.begin(node);
            node = match n {
                Node::Table(t) => {
                    self.emitter.push(Op::Table(*t));
                    self.waiting.extend(after(program, *t));
                    return;
                }
                Node::Always { call, next } => {
                    if let Some(a) = program.actions.get(call.action as usize) {
                        if call.args.is_empty() {
                            primitives::append(&a.primitives, program, &mut self.emitter);
                        } else {
                            self.emitter.push(Op::Call(Box::new(call.clone())));
                        }
                        if primitives::may_exit(&a.primitives) {
                            self.emitter.push_jump(Op::EndIfExit);
                        }
                    }
                    *next
                }
                Node::If { condition, yes, no } => {
                    match self.label(*no) {
                        Some(l) => {
                            expressions::jump_when(condition, false, l, &mut self.emitter);
                            self.waiting.push(*no);
                        }
                        None => {
                            let on = self.emitter.label();
                            expressions::jump_when(condition, true, on, &mut self.emitter);
                            self.emitter.push_jump(Op::End);
                            self.emitter.place(on);
                        }
                    }
                    *yes
                }
            };
        }
    }

    fn begin(&mut self, node: u32) {
        let i = node as usize;
        if self.entered.get(i).copied().unwrap_or(true) {
            if let Some(l) = self.label(node) {
                self.emitter.place(l);
            }
            let here = self.emitter.here();
            if let Some(s) = self.starts.get_mut(i) {
                *s = here;
            }
        } else if let Some(s) = self.starts.get_mut(i) {
            // Done, but only entered from the node before it.
            *s = END - 1;
        }
    }
}

/// Returns the nodes that a table may lead to.
fn after(program: &Program, table: u32) -> Vec<u32> {
    match program.tables.get(table as usize).map(|t| &t.next) {
        Some(NextNode::HitMiss { hit, miss }) => vec![*hit, *miss],
        Some(NextNode::ByAction { nodes, base }) => nodes
            .iter()
            .map(|(_, n)| *n)
            .chain(std::iter::once(*base))
            .collect(),
        None => Vec::new(),
    }
}

/// Returns for each node whether it is entered other than from one node directly before it.
fn entries(start: u32, program: &Program) -> Vec<bool> {
    let mut from = vec![0u32; program.nodes.len()];
    let mut count = |n: u32, by: u32| {
        if let Some(c) = from.get_mut(n as usize) {
            *c += by;
        }
    };
    count(start, 2);
    for n in &program.nodes {
        match n {
            Node::Table(t) => after(program, *t).into_iter().for_each(|n| count(n, 2)),
            Node::Always { next, .. } => count(*next, 1),
            Node::If { yes, no, .. } => {
                count(*yes, 1);
                count(*no, 2);
            }
        }
    }
    from.into_iter().map(|c| c > 1).collect()
}
