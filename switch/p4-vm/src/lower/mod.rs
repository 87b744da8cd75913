// SPDX-License-Identifier: Apache-2.0
//! Lowers a program to bytecode.
//!
//! Passes: if-conversion ([`if_conversion`]), copy propagation
//! ([`copy_propagation`]), store coalescing ([`store_coalescing`]) and, between
//! rounds, dead-store elimination ([`dead_store_elimination`]). [`emitter`]
//! assembles their instructions into a list.

mod checksums;
mod control_flow;
mod copy_propagation;
mod dead_store_elimination;
mod def_use;
mod emitter;
mod expressions;
mod hash;
mod if_conversion;
mod parser;
mod primitives;
mod store_coalescing;

use p4_ir::Program;

use crate::image::{Code, Image};
use crate::layout::deparser::DeparserLayout;
#[cfg(test)]
pub(crate) use primitives::list;

/// Most rounds of dead-store elimination.
const MAX_ROUNDS: usize = 4;

impl Image {
    /// Lowers a program.
    pub fn new(program: Program) -> Self {
        let parse_states = parser::states(&program);
        // A store that nothing reads is omitted. Its source may then be dead in the next
        // round.
        let mut dead = Vec::new();
        let mut code = Code::default();
        for _ in 0..MAX_ROUNDS {
            code = lower(&program, &dead);
            let now = dead_store_elimination::dead_words(&program, &code, &parse_states);
            if now == dead {
                break;
            }
            dead = now;
        }
        let selector = |p: &p4_ir::Profile| p.selector.as_ref().map(Into::into);
        Self {
            code,
            parse_states,
            deparser: DeparserLayout::new(&program.deparser_order, &program.headers),
            calculations: program.calculations.iter().map(Into::into).collect(),
            checksums: program.checksums.iter().map(checksums::checksum).collect(),
            selectors: program.profiles.iter().map(selector).collect(),
            program,
        }
    }
}

fn lower(program: &Program, dead: &[bool]) -> Code {
    let list = |p: &[p4_ir::Primitive]| primitives::list(p, program, dead);
    Code {
        actions: program
            .actions
            .iter()
            .map(|a| list(&a.primitives))
            .collect(),
        ingress: control_flow::flow(program.ingress_start, program, dead),
        egress: control_flow::flow(program.egress_start, program, dead),
        deparser: list(&program.deparser_primitives),
    }
}
