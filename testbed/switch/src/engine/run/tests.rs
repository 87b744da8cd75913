// SPDX-License-Identifier: Apache-2.0
//! Lists of steps against the instructions they stand for, one at a time.

use proptest::prelude::*;

use super::*;
use crate::bmv2::expr::{BinOp, Compiled, Expr, FieldRef, UnOp, WrapOp};
use crate::bmv2::gather::Gather;
use crate::bmv2::ir::{
    Action, Algorithm, CalcInput, Calculation, Constant, FieldList, Header, Insn, Piece, Program,
    RegisterArray,
};
use crate::bmv2::lower;
use crate::engine::eval::Env;
use crate::engine::packet::Requests;
use crate::engine::state::Cells;

/// Words 0 to 7 hold fields, 8 to 11 two headers, each behind its validity bit.
const FIELDS: u32 = 8;
const WORDS: usize = 12;
const ARGS: u32 = 3;

fn header(valid: u32) -> Header {
    Header {
        name: String::new(),
        type_name: String::new(),
        metadata: false,
        valid,
        fields: Vec::new(),
        words: valid as usize + 1..valid as usize + 2,
        fixed_bits: 64,
        variable: None,
        word_bytes: vec![8],
        stack: None,
    }
}

fn program() -> Program {
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

fn field() -> impl Strategy<Value = FieldRef> {
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

fn expr() -> impl Strategy<Value = Expr> {
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

fn compiled(e: Expr, low_bits: Option<u32>) -> Compiled {
    Compiled::new(e, low_bits, &Program::default())
}

fn insn() -> impl Strategy<Value = Insn> {
    prop_oneof![
        4 => (field(), any::<u64>()).prop_map(|(f, v)| Insn::SetConst(Constant {
            slot: f.slot,
            keep: !(f.mask << f.shift),
            value: (v & f.mask) << f.shift,
        })),
        4 => (field(), field()).prop_map(|(dst, src)| Insn::Copy { dst, src }),
        2 => (field(), 0..ARGS).prop_map(|(dst, offset)| Insn::SetArg { dst, offset }),
        2 => (field(), expr()).prop_map(|(dst, e)| Insn::Set64 {
            dst,
            value: compiled(e, Some(dst.width)),
        }),
        1 => (0u32..2).prop_map(Insn::AddHeader),
        1 => (0u32..2).prop_map(Insn::RemoveHeader),
        1 => (field(), 0u32..2, expr()).prop_map(|(dst, register, e)| Insn::RegisterRead {
            dst,
            register,
            index: compiled(e, None),
        }),
        1 => (0u32..2, expr(), expr()).prop_map(|(register, i, v)| Insn::RegisterWrite {
            register,
            index: compiled(i, None),
            value: compiled(v, Some(32)),
        }),
        1 => expr().prop_map(|e| Insn::Truncate { bytes: compiled(e, None) }),
        2 => (expr(), 1u32..6).prop_map(|(e, target)| Insn::JumpIfZero {
            condition: compiled(e, None),
            target,
        }),
        1 => (1u32..6).prop_map(Insn::Jump),
    ]
}

/// Two assignments to one field, of which a condition takes one.
fn diamond() -> impl Strategy<Value = Vec<Insn>> {
    let source = || prop_oneof![any::<u64>().prop_map(Err), field().prop_map(Ok)];
    (field(), expr(), source(), source()).prop_map(|(dst, condition, yes, no)| {
        let assign = |s| match s {
            Ok(src) => Insn::Copy { dst, src },
            Err(v) => Insn::SetConst(Constant {
                slot: dst.slot,
                keep: !(dst.mask << dst.shift),
                value: (v & dst.mask) << dst.shift,
            }),
        };
        vec![
            Insn::JumpIfZero {
                condition: compiled(condition, None),
                target: 3,
            },
            assign(yes),
            Insn::Jump(2),
            assign(no),
        ]
    })
}

/// Jumps lead forward, as many instructions as they said.
fn list() -> impl Strategy<Value = Vec<Insn>> {
    let part = prop_oneof![
        6 => insn().prop_map(|i| vec![i]),
        1 => diamond(),
    ];
    prop::collection::vec(part, 1..16).prop_map(|parts| {
        let mut list = parts.concat();
        let n = list.len() as u32;
        for (i, x) in list.iter_mut().enumerate() {
            if let Insn::Jump(t) | Insn::JumpIfZero { target: t, .. } = x {
                *t = (i as u32 + *t).min(n);
            }
        }
        list
    })
}

fn packet(words: &[u64]) -> Packet {
    Packet {
        words: words.into(),
        frame: vec![0; 100].into(),
        payload: 0..100,
        requests: Requests::default(),
        length_bytes: 100,
        ingress_bytes: 100,
        ingress_port: 1,
    }
}

/// Instruction by instruction.
fn plainly(e: &mut Exec<'_>, list: &[Insn], args: &[u64], p: &mut Packet) {
    let mut pc = 0;
    while let Some(i) = list.get(pc) {
        pc += 1;
        match i {
            Insn::Jump(t) => pc = *t as usize,
            Insn::JumpIfZero { condition, target } => {
                let env = Env {
                    program: e.program,
                    words: &p.words,
                    args,
                };
                if !eval::truth(condition, env) {
                    pc = *target as usize;
                }
            }
            other => e.rare(other, args, p),
        }
    }
}

/// What is left behind.
#[derive(Debug, PartialEq)]
struct Outcome {
    words: Box<[u64]>,
    length_bytes: u32,
    truncate_bytes: Option<u32>,
    cells: Vec<Option<Vec<u64>>>,
}

fn outcome(
    program: &Program,
    words: &[u64],
    run: impl FnOnce(&mut Exec<'_>, &mut Packet),
) -> Outcome {
    let mut cells = Cells::new(program);
    let mut p = packet(words);
    let mut e = Exec {
        program,
        cells: &mut cells,
        tables: &mut [],
        profiles: &[],
        drop_port: 511,
        now_us: 0,
        passes: 0,
    };
    run(&mut e, &mut p);
    let cell = |i: usize| cells.registers[i / 4].cell(i % 4).map(<[u64]>::to_vec);
    Outcome {
        words: p.words,
        length_bytes: p.length_bytes,
        truncate_bytes: p.requests.truncate_bytes,
        cells: (0..8).map(cell).collect(),
    }
}

fn vector() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(prop_oneof![any::<u64>(), 0..5u64], WORDS).prop_map(|mut words| {
        words[8] &= 1;
        words[10] &= 1;
        words
    })
}

fn arguments() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(any::<u64>(), ARGS as usize)
}

/// The first four fields are read by whoever comes next; the others are
/// temporaries.
const LASTING: u32 = 4;

fn with_temporaries(list: &[Insn]) -> Program {
    let mut program = program();
    program.headers.push(Header {
        metadata: true,
        words: 0..FIELDS as usize,
        ..header(8)
    });
    program.field_lists.insert(
        1,
        FieldList {
            words: vec![0..LASTING],
            parts: Vec::new(),
        },
    );
    program.actions.push(Action {
        insns: list.to_vec(),
        ..Action::default()
    });
    program
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]
    #[test]
    fn steps_do_what_the_instructions_say(
        list in list(),
        words in vector(),
        args in arguments(),
    ) {
        let program = program();
        let by_steps = outcome(&program, &words, |e, p| {
            e.run_list(&lower::list(&list, &program, &[]), &args, p);
        });
        let plain = outcome(&program, &words, |e, p| plainly(e, &list, &args, p));
        prop_assert_eq!(by_steps, plain);
    }

    #[test]
    fn what_is_left_out_is_never_missed(
        list in list(),
        words in vector(),
        args in arguments(),
    ) {
        let mut program = with_temporaries(&list);
        lower::lower(&mut program);
        let mut by_steps = outcome(&program, &words, |e, p| {
            e.run_list(&e.program.actions[0].code, &args, p);
        });
        let mut plain = outcome(&program, &words, |e, p| plainly(e, &list, &args, p));
        for o in [&mut by_steps, &mut plain] {
            o.words[LASTING as usize..FIELDS as usize].fill(0);
        }
        prop_assert_eq!(by_steps, plain);
    }
}

/// p4c's way to hash: into temporaries, from there into the hash. Nothing but the
/// hash is left.
#[test]
fn temporaries_of_a_hash_are_not_written() {
    let copy = |to, from, width| Insn::Copy {
        dst: FieldRef::alone(to, 32),
        src: FieldRef::alone(from, width),
    };
    let list = [
        copy(4, 0, 32),
        copy(5, 1, 16),
        Insn::Hash {
            dst: FieldRef::alone(2, 16),
            base: compiled(Expr::Const(0), None),
            calculation: 0,
            max: compiled(Expr::Const(0x1_0000), None),
        },
    ];
    let mut program = with_temporaries(&list);
    let piece = |slot, width| Piece {
        slot,
        shift: 0,
        width,
    };
    let input = vec![CalcInput::Run {
        pieces: vec![piece(4, 32), piece(5, 32)],
        valid: None,
    }];
    program.calculations.push(Calculation {
        name: String::new(),
        algorithm: Algorithm::Crc32,
        gather: Gather::new(&input),
        sum: None,
        input,
    });
    lower::lower(&mut program);
    let code = &program.actions[0].code;
    assert!(matches!(code[..], [Op::Hash(_)]), "{code:?}");
    let words: Vec<u64> = (1..=WORDS as u64).map(|w| w * 0x1234_5678).collect();
    let by_steps = outcome(&program, &words, |e, p| e.run_list(code, &[], p));
    let plain = outcome(&program, &words, |e, p| plainly(e, &list, &[], p));
    assert_eq!(by_steps.words[2], plain.words[2]);
    assert_ne!(by_steps.words[2], words[2]);
}
