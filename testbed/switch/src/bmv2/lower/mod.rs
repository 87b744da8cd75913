// SPDX-License-Identifier: Apache-2.0
//! From instructions and nodes, as p4c wrote them, to lists of steps.

mod asm;
mod copies;
mod dead;
mod diamond;
mod expr;
mod flow;
mod hash;
mod insn;
mod touched;
mod words;

pub use insn::list;

use super::ir::Program;

/// Fills in everything that is executed; the program is complete otherwise.
pub fn lower(program: &mut Program) {
    // What nothing reads need not be written, and then what was copied there
    // need not either.
    let mut dead = Vec::new();
    for _ in 0..MAX_ROUNDS {
        with(program, &dead);
        let now = dead::words(program);
        if now == dead {
            break;
        }
        dead = now;
    }
}

/// Rounds of leaving out what is not read.
const MAX_ROUNDS: usize = 4;

fn with(program: &mut Program, dead: &[bool]) {
    let code: Vec<_> = program
        .actions
        .iter()
        .map(|a| list(&a.insns, program, dead))
        .collect();
    for (a, code) in program.actions.iter_mut().zip(code) {
        a.code = code;
    }
    program.ingress = flow::flow(program.ingress_start, program, dead);
    program.egress = flow::flow(program.egress_start, program, dead);
    program.deparse_code = list(&program.deparse_prims, program, dead);
}
