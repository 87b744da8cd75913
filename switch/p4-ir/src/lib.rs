// SPDX-License-Identifier: Apache-2.0
//! p4c's BMv2 JSON as a typed intermediate representation.
//!
//! [`load`] reads the JSON once. In the [`Program`] that it returns, every field is a
//! slot in one array of words (the header vector), every action is a list of
//! [`Primitive`]s, and every name is an index. An unknown construct is an error that
//! names the construct and the line of the P4 source.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod aqm;
pub mod bits;
mod calculation;
mod error;
mod expr;
mod field;
mod header;
mod load;
mod parse_graph;
mod primitive;
mod program;
mod table;

pub use aqm::AqmFields;
pub use calculation::{Algorithm, CalcInput, Calculation, Checksum, Piece};
pub use error::LoadError;
pub use expr::{Arithmetic, BigConst, BinOp, Expr, HeaderRef, TypedExpr, UnOp, Widths, WrapOp};
pub use field::{Bits, FieldRef};
pub use header::{FieldList, Header, Stack, StandardMetadata};
pub use load::load;
pub use parse_graph::{
    Case, KeyPiece, KeySource, ParseOp, ParseState, ParserErrors, Transition, ValueSet,
};
pub use primitive::{Constant, Primitive};
pub use program::{Action, CounterArray, END, MeterArray, Node, Param, Program, RegisterArray};
pub use table::{
    ActionCall, ConstEntry, LearnList, MatchKind, MatchValue, NextNode, Profile, ProfileAction,
    Table, TableKey,
};

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
