// SPDX-License-Identifier: Apache-2.0
//! Expressions, and an arithmetic wide enough for each.
//!
//! BMv2 computes with unbounded signed integers and truncates values only when they
//! are stored. [`TypedExpr::new`] finds for each expression the cheapest arithmetic
//! that gives the same result: wrapping 64 bits, wrapping 128 bits, or unbounded
//! integers.

mod fits;
mod range;
mod simplify;
mod tree;
mod typed;

pub(crate) use simplify::simplify;
pub use tree::{BigConst, BinOp, Expr, HeaderRef, UnOp, Widths, WrapOp};
pub use typed::{Arithmetic, TypedExpr};
