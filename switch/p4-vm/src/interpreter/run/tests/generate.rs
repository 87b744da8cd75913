// SPDX-License-Identifier: Apache-2.0
//! Random lists of instructions, header vectors and arguments.

use proptest::prelude::*;

use p4_ir::TypedExpr;
use p4_ir::{BinOp, Expr, FieldRef, UnOp, WrapOp};
use p4_ir::{Constant, Header, HeaderRef, Primitive, Program, RegisterArray};

/// Number of words that hold fields; words 8 to 11 hold two headers, each after its validity bit.
pub(super) const FIELDS: u32 = 8;
pub(super) const WORDS: usize = 12;
pub(super) const ARGS: u32 = 3;

pub(super) fn header(valid: u32) -> Header {
    Header {
        valid,
        words: valid as usize + 1..valid as usize + 2,
        fixed_bits: 64,
        word_bytes: vec![8],
        ..Header::default()
    }
}

pub(super) fn program() -> Program {
    let register = |width| RegisterArray {
        name: String::new(),
        size: 4,
        width,
    };
    Program {
        words: WORDS,
        headers: vec![header(8), header(10)],
        registers: vec![register(32), register(7)],
        ..Program::default()
    }
}

pub(super) fn field() -> impl Strategy<Value = FieldRef> {
    (0..WORDS as u32, 1u32..=64, 0u32..64).prop_map(|(slot, width, shift)| {
        let width = if slot >= FIELDS && slot % 2 == 0 {
            1
        } else {
            width
        };
        FieldRef {
            shift: if slot < FIELDS {
                (shift % (65 - width)) as u8
            } else {
                0
            },
            ..FieldRef::alone(slot, width)
        }
    })
}

pub(super) fn expr() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        field().prop_map(Expr::Field),
        (0..70i64).prop_map(Expr::Const),
        any::<i64>().prop_map(Expr::Const),
        (0..ARGS, 1u32..=64).prop_map(|(offset, width)| Expr::Arg { offset, width }),
    ];
    let op = prop::sample::select(vec![
        BinOp::Add,
        BinOp::Sub,
        BinOp::Mul,
        BinOp::And,
        BinOp::Or,
        BinOp::Xor,
        BinOp::Shl,
        BinOp::Shr,
        BinOp::Eq,
        BinOp::Ne,
        BinOp::Lt,
        BinOp::Ge,
        BinOp::BoolAnd,
        BinOp::BoolOr,
    ]);
    leaf.prop_recursive(3, 12, 2, move |inner| {
        prop_oneof![
            6 => (op.clone(), inner.clone(), inner.clone())
                .prop_map(|(op, a, b)| Expr::Bin(op, Box::new((a, b)))),
            1 => inner.clone().prop_map(|x| Expr::Un(UnOp::BitNot, Box::new(x))),
            1 => inner.clone().prop_map(|x| Expr::Un(UnOp::BoolNot, Box::new(x))),
            1 => (1u32..60, inner.clone())
                .prop_map(|(w, x)| Expr::Wrap(WrapOp::SaturateUnsigned, w, Box::new(x))),
            1 => (1u32..=64, inner)
                .prop_map(|(w, x)| Expr::Wrap(WrapOp::TwosComplement, w, Box::new(x))),
        ]
    })
}

pub(super) fn compiled(e: Expr, low_bits: Option<u32>) -> TypedExpr {
    TypedExpr::new(e, low_bits, &Program::default())
}

pub(super) fn insn() -> impl Strategy<Value = Primitive> {
    prop_oneof![
        4 => (field(), any::<u64>()).prop_map(|(f, v)| Primitive::SetConst(Constant {
            slot: f.slot,
            keep: !(f.mask << f.shift),
            value: (v & f.mask) << f.shift,
        })),
        4 => (field(), field()).prop_map(|(dst, src)| Primitive::Copy { dst, src }),
        2 => (field(), 0..ARGS).prop_map(|(dst, offset)| Primitive::SetArg { dst, offset }),
        2 => (field(), expr()).prop_map(|(dst, e)| Primitive::Set64 {
            dst,
            value: compiled(e, Some(dst.width)),
        }),
        1 => (0u32..2).prop_map(|h| Primitive::AddHeader(HeaderRef::Of(h))),
        1 => (0u32..2).prop_map(|h| Primitive::RemoveHeader(HeaderRef::Of(h))),
        1 => (field(), 0u32..2, expr()).prop_map(|(dst, register, e)| Primitive::RegisterRead {
            dst,
            register,
            index: compiled(e, None),
        }),
        1 => (0u32..2, expr(), expr()).prop_map(|(register, i, v)| Primitive::RegisterWrite {
            register,
            index: compiled(i, None),
            value: compiled(v, Some(32)),
        }),
        1 => expr().prop_map(|e| Primitive::Truncate { bytes: compiled(e, None) }),
        2 => (expr(), 1u32..6).prop_map(|(e, target)| Primitive::JumpIfZero {
            condition: compiled(e, None),
            target,
        }),
        1 => (1u32..6).prop_map(Primitive::Jump),
    ]
}

/// Two assignments to one field; a condition selects one of them.
pub(super) fn diamond() -> impl Strategy<Value = Vec<Primitive>> {
    let source = || prop_oneof![any::<u64>().prop_map(Err), field().prop_map(Ok)];
    (field(), expr(), source(), source()).prop_map(|(dst, condition, yes, no)| {
        let assign = |s| match s {
            Ok(src) => Primitive::Copy { dst, src },
            Err(v) => Primitive::SetConst(Constant {
                slot: dst.slot,
                keep: !(dst.mask << dst.shift),
                value: (v & dst.mask) << dst.shift,
            }),
        };
        vec![
            Primitive::JumpIfZero {
                condition: compiled(condition, None),
                target: 3,
            },
            assign(yes),
            Primitive::Jump(2),
            assign(no),
        ]
    })
}

/// A list whose jumps lead forward, past as many instructions as they say.
pub(super) fn list() -> impl Strategy<Value = Vec<Primitive>> {
    let part = prop_oneof![
        6 => insn().prop_map(|i| vec![i]),
        1 => diamond(),
    ];
    prop::collection::vec(part, 1..16).prop_map(|parts| {
        let mut list = parts.concat();
        let n = list.len() as u32;
        for (i, x) in list.iter_mut().enumerate() {
            if let Primitive::Jump(t) | Primitive::JumpIfZero { target: t, .. } = x {
                *t = (i as u32 + *t).min(n);
            }
        }
        list
    })
}

pub(super) fn vector() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(prop_oneof![any::<u64>(), 0..5u64], WORDS).prop_map(|mut words| {
        words[8] &= 1;
        words[10] &= 1;
        words
    })
}

pub(super) fn arguments() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(any::<u64>(), ARGS as usize)
}
