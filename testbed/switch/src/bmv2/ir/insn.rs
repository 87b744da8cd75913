// SPDX-License-Identifier: Apache-2.0
//! Instructions of actions, as p4c wrote them.

use crate::bmv2::expr::{Compiled, FieldRef};

/// Bits of a word that are replaced: `(word & keep) | value`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Constant {
    pub slot: u32,
    pub keep: u64,
    pub value: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Insn {
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
        value: Compiled,
    },
    Set {
        dst: FieldRef,
        value: Compiled,
    },
    /// Field of the stack element that `index` selects; nothing outside.
    SetAt {
        stack: u32,
        field: u32,
        index: Compiled,
        value: Compiled,
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
        condition: Compiled,
        target: u32,
    },
    Exit,
    MarkToDrop,
    CloneIngress {
        session: Compiled,
        list: Compiled,
    },
    CloneEgress {
        session: Compiled,
        list: Compiled,
    },
    Resubmit {
        list: Compiled,
    },
    Recirculate {
        list: Compiled,
    },
    Truncate {
        bytes: Compiled,
    },
    Digest {
        list: Compiled,
    },
    Hash {
        dst: FieldRef,
        base: Compiled,
        calculation: u32,
        max: Compiled,
    },
    Random {
        dst: FieldRef,
        low: Compiled,
        high: Compiled,
    },
    Count {
        counter: u32,
        index: Compiled,
    },
    Meter {
        meter: u32,
        index: Compiled,
        dst: FieldRef,
    },
    RegisterRead {
        dst: FieldRef,
        register: u32,
        index: Compiled,
    },
    RegisterWrite {
        register: u32,
        index: Compiled,
        value: Compiled,
    },
    Assert {
        condition: Compiled,
        what: String,
    },
    Log {
        format: String,
        args: Vec<Compiled>,
    },
}
