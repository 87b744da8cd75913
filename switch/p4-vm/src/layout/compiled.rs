// SPDX-License-Identifier: Apache-2.0
//! An expression with its shape.

use p4_ir::{Arithmetic, TypedExpr};

use super::shape::Shape;

/// An expression that is evaluated for every packet.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Compiled {
    pub typed: TypedExpr,
    pub shape: Shape,
}

impl From<&TypedExpr> for Compiled {
    fn from(typed: &TypedExpr) -> Self {
        Self {
            shape: Shape::of(typed),
            typed: typed.clone(),
        }
    }
}

impl Shape {
    /// Finds the shape; only 64-bit arithmetic has shapes.
    pub(crate) fn of(e: &TypedExpr) -> Self {
        if e.arithmetic == Arithmetic::Wrapping64 {
            Self::new(&e.expr)
        } else {
            Self::Tree
        }
    }
}
