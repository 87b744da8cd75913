// SPDX-License-Identifier: Apache-2.0
//! Expressions, and the arithmetic that is wide enough for each.
//!
//! BMv2 computes with unbounded signed integers and cuts values only when they
//! are stored. [`TypedExpr::new`] finds for each expression the cheapest
//! arithmetic that gives the same result: wrapping 64 bits, wrapping 128 bits,
//! or integers without bound.

mod fits;
mod range;
mod simplify;
mod tree;
mod typed;

pub(crate) use simplify::simplify;
pub use tree::{BigConst, BinOp, Expr, HeaderRef, UnOp, Widths, WrapOp};
pub use typed::{Arithmetic, TypedExpr};
