// SPDX-License-Identifier: Apache-2.0
//! Lowers the parse graph.

use p4_ir::{Primitive, Program};

use super::primitives::list;
use crate::bytecode::Op;
use crate::image::{ParseOp, ParseState};
use crate::layout::header_words::HeaderWords;
use crate::layout::select::Select;

/// Lowers the program's states, by number.
pub(super) fn states(program: &Program) -> Vec<ParseState> {
    let one = |s: &p4_ir::ParseState| ParseState {
        ops: s.ops.iter().map(|o| operation(o, program)).collect(),
        select: Select::new(s),
    };
    program.parse_states.iter().map(one).collect()
}

fn operation(o: &p4_ir::ParseOp, program: &Program) -> ParseOp {
    match o {
        p4_ir::ParseOp::Extract(h) => {
            let header = program.headers.get(*h as usize);
            match header.and_then(HeaderWords::new) {
                Some(words) => ParseOp::ExtractWords(words),
                None => ParseOp::Extract(*h),
            }
        }
        p4_ir::ParseOp::ExtractNext(stack) => ParseOp::ExtractNext(*stack),
        p4_ir::ParseOp::ExtractNextVariable { stack, bits } => ParseOp::ExtractNextVariable {
            stack: *stack,
            bits: bits.into(),
        },
        p4_ir::ParseOp::ExtractVariable { header, bits } => ParseOp::ExtractVariable {
            header: *header,
            bits: bits.into(),
        },
        p4_ir::ParseOp::SetLookahead {
            dst,
            offset_bits,
            width_bits,
        } => ParseOp::SetLookahead {
            dst: *dst,
            offset_bits: *offset_bits,
            width_bits: *width_bits,
        },
        p4_ir::ParseOp::Verify { condition, error } => ParseOp::Verify {
            condition: condition.into(),
            error: error.into(),
        },
        p4_ir::ParseOp::Advance { bits } => ParseOp::Advance { bits: bits.into() },
        p4_ir::ParseOp::Run(primitives) => ParseOp::Run(run(primitives, program)),
    }
}

/// Lowers primitives; keeps every word, as readers are known only once the parser is lowered.
fn run(primitives: &[Primitive], program: &Program) -> Box<[Op]> {
    list(primitives, program, &[])
}
