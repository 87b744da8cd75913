// SPDX-License-Identifier: Apache-2.0
//! The arithmetic that is wide enough for an expression.

use super::fits::{fits, need};
use super::simplify::simplify;
use super::tree::{Expr, Widths};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arithmetic {
    Wrapping64,
    Wrapping128,
    Unbounded,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TypedExpr {
    pub expr: Expr,
    pub arithmetic: Arithmetic,
}

impl TypedExpr {
    /// `low_bits`: only that many low bits of the result will be used; `None`
    /// when its exact value matters.
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
