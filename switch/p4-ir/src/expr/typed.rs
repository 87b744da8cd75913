// SPDX-License-Identifier: Apache-2.0
//! An expression with an arithmetic that is wide enough for it.

use super::fits::{fits, need};
use super::simplify::simplify;
use super::tree::{Expr, Widths};

/// Integer arithmetic that gives an expression's exact result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arithmetic {
    /// 64 bits, two's complement.
    Wrapping64,
    /// 128 bits, two's complement.
    Wrapping128,
    /// Unbounded.
    Unbounded,
}

/// An expression and its arithmetic.
#[derive(Debug, Clone, PartialEq)]
pub struct TypedExpr {
    /// The simplified expression.
    pub expr: Expr,
    /// Wide enough for all bits of the result that matter.
    pub arithmetic: Arithmetic,
}

impl TypedExpr {
    /// `low_bits`: number of low bits of the result that will be used; `None` when the exact
    /// value matters.
    pub fn new(expr: Expr, low_bits: Option<u32>, widths: &dyn Widths) -> Self {
        let expr = simplify(expr, low_bits, widths);
        let arithmetic = if fits(&expr, need(low_bits, 64), 64, widths) {
            Arithmetic::Wrapping64
        } else if fits(&expr, need(low_bits, 128), 128, widths) {
            Arithmetic::Wrapping128
        } else {
            Arithmetic::Unbounded
        };
        Self { expr, arithmetic }
    }
}
