// SPDX-License-Identifier: Apache-2.0
//! Primitives of actions.

use crate::expr::{HeaderRef, TypedExpr};
use crate::field::FieldRef;

/// Replaces bits of a word: `(word & keep) | value`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Constant {
    /// The word.
    pub slot: u32,
    /// Bits that stay.
    pub keep: u64,
    /// Bits that are set.
    pub value: u64,
}

/// One primitive of an action, as p4c wrote it. Assignments are divided by their cost.
///
/// `dst` is the destination. Numbers refer to the lists of the
/// [`Program`](crate::Program): headers, stacks, registers and so on.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Primitive {
    /// `dst = constant`.
    SetConst(Constant),
    /// `dst = src`, both at most 64 bits wide.
    Copy { dst: FieldRef, src: FieldRef },
    /// `dst = argument`, both at most 64 bits wide. `offset` is in words.
    SetArg { dst: FieldRef, offset: u32 },
    /// `dst = value`, in wrapping 64-bit arithmetic.
    Set64 { dst: FieldRef, value: TypedExpr },
    /// `dst = value`, in any arithmetic.
    Set { dst: FieldRef, value: TypedExpr },
    /// `stack[index].field = value`; no effect outside the stack.
    SetAt {
        stack: u32,
        field: u32,
        index: TypedExpr,
        value: TypedExpr,
    },
    /// `dst = src`, where `dst` is wider than 64 bits.
    CopyWide { dst: FieldRef, src: FieldRef },
    /// `dst = src` for variable-length fields, with the length.
    CopyVariable { dst: FieldRef, src: FieldRef },
    /// `dst = src` for whole headers, with their validity.
    CopyHeader { dst: HeaderRef, src: HeaderRef },
    /// `a = b` for header unions: pairs of members (destination, source).
    CopyUnion { pairs: Vec<(u32, u32)> },
    /// `dst = src` for header stacks.
    CopyStack { dst: u32, src: u32 },
    /// `setValid()`.
    AddHeader(HeaderRef),
    /// `setInvalid()`.
    RemoveHeader(HeaderRef),
    /// `push_front(count)`.
    Push { stack: u32, count: u32 },
    /// `pop_front(count)`.
    Pop { stack: u32, count: u32 },
    /// Jumps to this position of the action.
    Jump(u32),
    /// Jumps to position `target` of the action if `condition` is 0.
    JumpIfZero { condition: TypedExpr, target: u32 },
    /// `exit`.
    Exit,
    /// `mark_to_drop()` on standard metadata, or on the program's copy of it.
    MarkToDrop {
        egress_spec: FieldRef,
        mcast_grp: Option<FieldRef>,
    },
    /// Does nothing.
    NoOp,
    /// `clone(CloneType.I2E, session)`, with field list `list`.
    CloneIngress { session: TypedExpr, list: TypedExpr },
    /// `clone(CloneType.E2E, session)`, with field list `list`.
    CloneEgress { session: TypedExpr, list: TypedExpr },
    /// `resubmit_preserving_field_list(list)`.
    Resubmit { list: TypedExpr },
    /// `recirculate_preserving_field_list(list)`.
    Recirculate { list: TypedExpr },
    /// `truncate(bytes)`.
    Truncate { bytes: TypedExpr },
    /// `digest()` of learn list `list`.
    Digest { list: TypedExpr },
    /// `dst = base + calculation % max`.
    Hash {
        dst: FieldRef,
        base: TypedExpr,
        calculation: u32,
        max: TypedExpr,
    },
    /// `random()`, both bounds included.
    Random {
        dst: FieldRef,
        low: TypedExpr,
        high: TypedExpr,
    },
    /// `counter.count(index)`.
    Count { counter: u32, index: TypedExpr },
    /// `meter.execute_meter(index, dst)`.
    Meter {
        meter: u32,
        index: TypedExpr,
        dst: FieldRef,
    },
    /// `register.read(dst, index)`.
    RegisterRead {
        dst: FieldRef,
        register: u32,
        index: TypedExpr,
    },
    /// `register.write(index, value)`.
    RegisterWrite {
        register: u32,
        index: TypedExpr,
        value: TypedExpr,
    },
    /// `assert` or `assume`; `what` is the P4 source of the condition.
    Assert { condition: TypedExpr, what: String },
    /// `log_msg`; each `{}` of `format` stands for one of `args`.
    Log {
        format: String,
        args: Vec<TypedExpr>,
    },
}
