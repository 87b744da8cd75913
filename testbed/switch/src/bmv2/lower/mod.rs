// SPDX-License-Identifier: Apache-2.0
//! From instructions and nodes, as p4c wrote them, to lists of steps.

mod asm;
mod expr;
mod flow;
mod insn;
mod words;

pub use insn::list;

use super::ir::Program;

/// Fills in everything that is executed; the program is complete otherwise.
pub fn lower(program: &mut Program) {
    let code: Vec<_> = program
        .actions
        .iter()
        .map(|a| list(&a.insns, program))
        .collect();
    for (a, code) in program.actions.iter_mut().zip(code) {
        a.code = code;
    }
    program.ingress = flow::flow(program.ingress_start, program);
    program.egress = flow::flow(program.egress_start, program);
    program.deparse_code = list(&program.deparse_prims, program);
}
