// SPDX-License-Identifier: Apache-2.0
//! A program in the form in which it is executed.

use p4_ir::{FieldRef, Program};

use crate::bytecode::{Flow, Op};
use crate::layout::calculation::Calculation;
use crate::layout::compiled::Compiled;
use crate::layout::deparser::DeparserLayout;
use crate::layout::guard::Guard;
use crate::layout::header_words::HeaderWords;
use crate::layout::select::Select;

/// A program and the bytecode that executes it.
#[derive(Debug)]
pub struct Image {
    /// Names, tables, headers and arrays.
    pub program: Program,
    pub(crate) code: Code,
    pub(crate) parse_states: Vec<ParseState>,
    pub(crate) deparser: DeparserLayout,
    /// Calculations, numbered as in the program.
    pub(crate) calculations: Vec<Calculation>,
    pub(crate) checksums: Vec<Checksum>,
    /// Hashes that select a group's member, by action profile number.
    pub(crate) selectors: Vec<Option<Calculation>>,
}

/// Bytecode of the actions and pipelines.
#[derive(Debug, Default)]
pub(crate) struct Code {
    /// Bytecode by action number.
    pub actions: Vec<Box<[Op]>>,
    pub ingress: Flow,
    pub egress: Flow,
    pub deparser: Box<[Op]>,
}

#[derive(Debug)]
pub(crate) struct ParseState {
    pub ops: Box<[ParseOp]>,
    /// Replaces the state's key if the key is simple.
    pub select: Option<Select>,
}

#[derive(Debug)]
pub(crate) enum ParseOp {
    Extract(u32),
    ExtractWords(HeaderWords),
    ExtractNext(u32),
    ExtractNextVariable {
        stack: u32,
        bits: Compiled,
    },
    ExtractVariable {
        header: u32,
        bits: Compiled,
    },
    SetLookahead {
        dst: FieldRef,
        offset_bits: u32,
        width_bits: u32,
    },
    Verify {
        condition: Compiled,
        error: Compiled,
    },
    Advance {
        bits: Compiled,
    },
    /// Assignments and other primitives.
    Run(Box<[Op]>),
}

#[derive(Debug)]
pub(crate) struct Checksum {
    pub target: FieldRef,
    pub calculation: u32,
    pub verify: bool,
    pub update: bool,
    /// Words that must have these values; `condition`, if any, must hold as well.
    pub guard: Vec<Guard>,
    pub condition: Option<Compiled>,
}
