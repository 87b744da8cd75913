// SPDX-License-Identifier: Apache-2.0
//! Lowers a hash to one instruction that reads the fields from which its input was copied.

use super::emitter::Emitter;
use crate::bytecode::Hash;
use crate::layout::fixed_input::FixedInput;
use crate::layout::shape::Shape;
use p4_ir::Bits;
use p4_ir::FieldRef;
use p4_ir::TypedExpr;
use p4_ir::bits::mask64;
use p4_ir::{Algorithm, CalcInput, Piece, Program};

/// Lowers a hash; `None` if the general instruction is needed.
pub(super) fn convert(
    dst: FieldRef,
    base: &TypedExpr,
    calculation: u32,
    max: &TypedExpr,
    program: &Program,
    emitter: &Emitter<'_>,
) -> Option<Hash> {
    let c = program.calculations.get(calculation as usize)?;
    let (Shape::Const(base), Shape::Const(max)) = (Shape::of(base), Shape::of(max)) else {
        return None;
    };
    if dst.width > 64
        || dst.variable
        || matches!(c.algorithm, Algorithm::Csum16 | Algorithm::RoundRobin)
    {
        return None;
    }
    FixedInput::new(&c.input)?;
    let input: Vec<_> = c.input.iter().flat_map(|i| origins(i, emitter)).collect();
    Some(Hash {
        input: FixedInput::new(&input)?,
        algorithm: c.algorithm,
        to: dst.into(),
        base: base as u64,
        max: (max as u64).max(1),
    })
}

fn origins(i: &CalcInput, emitter: &Emitter<'_>) -> Vec<CalcInput> {
    match i {
        CalcInput::Run { pieces, valid } => pieces
            .iter()
            .flat_map(|p| origin(*p, *valid, emitter))
            .collect(),
        CalcInput::Field { field, valid } => vec![CalcInput::Field {
            field: *field,
            valid: *valid,
        }],
        CalcInput::Const { words, width_bits } => vec![CalcInput::Const {
            words: words.clone(),
            width_bits: *width_bits,
        }],
        CalcInput::Payload => vec![CalcInput::Payload],
    }
}

/// Returns the origin of a piece; a copy of a narrower field has leading zeros.
fn origin(p: Piece, valid: Option<u32>, emitter: &Emitter<'_>) -> Vec<CalcInput> {
    let b = emitter.origin(Bits {
        slot: p.slot,
        shift: p.shift,
        mask: mask64(p.width.into()),
    });
    let width = b.mask.trailing_ones() as u8;
    let mut out = Vec::new();
    if width < p.width {
        out.push(CalcInput::Const {
            words: vec![0],
            width_bits: u32::from(p.width - width),
        });
    }
    if width > 0 {
        let pieces = vec![Piece {
            slot: b.slot,
            shift: b.shift,
            width,
        }];
        out.push(CalcInput::Run { pieces, valid });
    }
    out
}
