// SPDX-License-Identifier: Apache-2.0
//! Inputs of an instruction other than its operands.

use p4_ir::Program;

/// State that expressions can read.
#[derive(Clone, Copy)]
pub(crate) struct Env<'a> {
    pub program: &'a Program,
    /// The packet's header vector.
    pub words: &'a [u64],
    /// The running action's data.
    pub args: &'a [u64],
}

impl<'a> Env<'a> {
    /// Environment outside of actions.
    pub(crate) fn of(program: &'a Program, words: &'a [u64]) -> Self {
        Self {
            program,
            words,
            args: &[],
        }
    }
}
