// SPDX-License-Identifier: Apache-2.0
//! A hash as one step that reads its fields from where they were copied.

use super::asm::Asm;
use crate::bmv2::bits::mask64;
use crate::bmv2::expr::{Compiled, FieldRef};
use crate::bmv2::fast::Fast;
use crate::bmv2::gather::Gather;
use crate::bmv2::ir::{Algorithm, CalcInput, Piece, Program};
use crate::bmv2::op::{Bits, Hash};

/// `None` where the general instruction is needed.
pub fn step(
    dst: FieldRef,
    base: &Compiled,
    calculation: u32,
    max: &Compiled,
    program: &Program,
    asm: &Asm<'_>,
) -> Option<Hash> {
    let c = program.calculations.get(calculation as usize)?;
    let (Fast::Const(base), Fast::Const(max)) = (&base.fast, &max.fast) else {
        return None;
    };
    if dst.width > 64
        || dst.variable
        || matches!(c.algorithm, Algorithm::Csum16 | Algorithm::RoundRobin)
    {
        return None;
    }
    c.gather.as_ref()?;
    let input: Vec<_> = c.input.iter().flat_map(|i| origins(i, asm)).collect();
    Some(Hash {
        gather: Gather::new(&input)?,
        algorithm: c.algorithm,
        to: dst.into(),
        base: *base as u64,
        max: (*max as u64).max(1),
    })
}

fn origins(i: &CalcInput, asm: &Asm<'_>) -> Vec<CalcInput> {
    match i {
        CalcInput::Run { pieces, valid } => pieces
            .iter()
            .flat_map(|p| origin(*p, *valid, asm))
            .collect(),
        CalcInput::Field { field, valid } => vec![CalcInput::Field {
            field: *field,
            valid: *valid,
        }],
        CalcInput::Const { words, width_bits } => vec![CalcInput::Const {
            words: words.clone(),
            width_bits: *width_bits,
        }],
        CalcInput::Header(h) => vec![CalcInput::Header(*h)],
        CalcInput::Payload => vec![CalcInput::Payload],
    }
}

/// What was copied from a narrower field begins with zeros.
fn origin(p: Piece, valid: Option<u32>, asm: &Asm<'_>) -> Vec<CalcInput> {
    let b = asm.origin(Bits {
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
