// SPDX-License-Identifier: Apache-2.0
//! Calculations with the layout of their input.

use p4_ir::{Algorithm, CalcInput};

use super::fixed_input::FixedInput;
use super::ones_complement::OnesComplementSum;

/// A checksum or hash.
#[derive(Debug)]
pub(crate) struct Calculation {
    pub algorithm: Algorithm,
    pub input: Vec<CalcInput>,
    /// Layout of the whole input, if its length never varies.
    pub fixed: Option<FixedInput>,
    /// Layout of the sum, for [`Algorithm::Csum16`].
    pub sum: Option<OnesComplementSum>,
}

impl From<&p4_ir::Calculation> for Calculation {
    fn from(c: &p4_ir::Calculation) -> Self {
        Self {
            algorithm: c.algorithm,
            fixed: FixedInput::new(&c.input),
            sum: (c.algorithm == Algorithm::Csum16).then(|| OnesComplementSum::new(&c.input)),
            input: c.input.clone(),
        }
    }
}
