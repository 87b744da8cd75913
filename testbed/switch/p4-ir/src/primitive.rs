// SPDX-License-Identifier: Apache-2.0
//! Instructions of actions, as p4c wrote them.

use crate::expr::TypedExpr;
use crate::field::FieldRef;

/// Bits of a word that are replaced: `(word & keep) | value`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Constant {
    pub slot: u32,
    pub keep: u64,
    pub value: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Primitive {
    SetConst(Constant),
    /// Both at most 64 bits wide.
    Copy {
        dst: FieldRef,
        src: FieldRef,
    },
    /// An argument and a field of at most 64 bits.
    SetArg {
        dst: FieldRef,
        offset: u32,
    },
    /// Computed in wrapping 64 bits.
    Set64 {
        dst: FieldRef,
        value: TypedExpr,
    },
    Set {
        dst: FieldRef,
        value: TypedExpr,
    },
    /// Field of the stack element that `index` selects; nothing outside.
    SetAt {
        stack: u32,
        field: u32,
        index: TypedExpr,
        value: TypedExpr,
    },
    CopyWide {
        dst: FieldRef,
        src: FieldRef,
    },
    CopyVariable {
        dst: FieldRef,
        src: FieldRef,
    },
    CopyHeader {
        dst: u32,
        src: u32,
    },
    CopyStack {
        dst: u32,
        src: u32,
    },
    AddHeader(u32),
    RemoveHeader(u32),
    Push {
        stack: u32,
        count: u32,
    },
    Pop {
        stack: u32,
        count: u32,
    },
    Jump(u32),
    JumpIfZero {
        condition: TypedExpr,
        target: u32,
    },
    Exit,
    MarkToDrop,
    CloneIngress {
        session: TypedExpr,
        list: TypedExpr,
    },
    CloneEgress {
        session: TypedExpr,
        list: TypedExpr,
    },
    Resubmit {
        list: TypedExpr,
    },
    Recirculate {
        list: TypedExpr,
    },
    Truncate {
        bytes: TypedExpr,
    },
    Digest {
        list: TypedExpr,
    },
    Hash {
        dst: FieldRef,
        base: TypedExpr,
        calculation: u32,
        max: TypedExpr,
    },
    Random {
        dst: FieldRef,
        low: TypedExpr,
        high: TypedExpr,
    },
    Count {
        counter: u32,
        index: TypedExpr,
    },
    Meter {
        meter: u32,
        index: TypedExpr,
        dst: FieldRef,
    },
    RegisterRead {
        dst: FieldRef,
        register: u32,
        index: TypedExpr,
    },
    RegisterWrite {
        register: u32,
        index: TypedExpr,
        value: TypedExpr,
    },
    Assert {
        condition: TypedExpr,
        what: String,
    },
    Log {
        format: String,
        args: Vec<TypedExpr>,
    },
}
