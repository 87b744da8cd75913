// SPDX-License-Identifier: Apache-2.0
//! Compares bytecode with the primitives that it replaces, executed one at a time.

mod generate;

use proptest::prelude::*;

use super::*;
use crate::image::Image;
use crate::interpreter::env::Env;
use crate::interpreter::eval;
use crate::lower;
use crate::packet::Requests;
use crate::state::cells::Cells;
use generate::{FIELDS, WORDS, arguments, compiled, header, list, program, vector};
use p4_ir::{
    Action, Algorithm, CalcInput, Calculation, FieldList, Header, Piece, Primitive, Program,
};
use p4_ir::{BinOp, Expr, FieldRef};

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

/// Executes a list primitive by primitive.
fn reference(e: &mut Exec<'_>, list: &[Primitive], args: &[u64], p: &mut Packet) {
    let mut pc = 0;
    while let Some(i) = list.get(pc) {
        pc += 1;
        match i {
            Primitive::Jump(t) => pc = *t as usize,
            Primitive::JumpIfZero { condition, target } => {
                let env = Env {
                    program: &e.image.program,
                    words: &p.words,
                    args,
                };
                if !eval::truth(condition, env) {
                    pc = *target as usize;
                }
            }
            Primitive::SetConst(c) => {
                let word = &mut p.words[c.slot as usize];
                *word = (*word & c.keep) | c.value;
            }
            Primitive::Copy { dst, src } => {
                let v = src.get(&p.words);
                dst.set(&mut p.words, v);
            }
            Primitive::SetArg { dst, offset } => {
                dst.set(
                    &mut p.words,
                    args.get(*offset as usize).copied().unwrap_or(0),
                );
            }
            Primitive::Truncate { bytes } => {
                let n = eval::low64(bytes, e.env(p, args)) as u32;
                let present = p.requests.truncate_bytes.unwrap_or(u32::MAX);
                p.requests.truncate_bytes = Some(n.min(present));
            }
            other => e.primitive(other, args, p),
        }
    }
}

/// State that a run leaves.
#[derive(Debug, PartialEq)]
struct Outcome {
    words: Box<[u64]>,
    length_bytes: u32,
    truncate_bytes: Option<u32>,
    cells: Vec<Option<Vec<u64>>>,
}

fn outcome(image: &Image, words: &[u64], run: impl FnOnce(&mut Exec<'_>, &mut Packet)) -> Outcome {
    let mut cells = Cells::new(&image.program);
    let mut p = packet(words);
    let mut e = Exec {
        image,
        cells: &mut cells,
        tables: &mut [],
        profiles: &[],
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

/// Number of fields that later code reads; the other fields are temporaries.
const LASTING: u32 = 4;

fn with_temporaries(list: &[Primitive]) -> Program {
    let mut program = program();
    program.headers.push(Header {
        metadata: true,
        words: 0..FIELDS as usize,
        ..header(8)
    });
    program.field_lists.insert(
        1,
        FieldList {
            words: vec![0..1, 1..LASTING],
            parts: Vec::new(),
        },
    );
    program.actions.push(Action {
        primitives: list.to_vec(),
        ..Action::default()
    });
    program
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]
    #[test]
    fn bytecode_does_what_the_primitives_say(
        list in list(),
        words in vector(),
        args in arguments(),
    ) {
        let image = Image::new(program());
        let bytecode = outcome(&image, &words, |e, p| {
            e.run_list(&lower::list(&list, &image.program, &[]), &args, p);
        });
        let plain = outcome(&image, &words, |e, p| reference(e, &list, &args, p));
        prop_assert_eq!(bytecode, plain);
    }

    #[test]
    fn eliminated_stores_are_never_read(
        list in list(),
        words in vector(),
        args in arguments(),
    ) {
        let image = Image::new(with_temporaries(&list));
        let mut bytecode = outcome(&image, &words, |e, p| {
            e.run_list(&e.image.code.actions[0], &args, p);
        });
        let mut plain = outcome(&image, &words, |e, p| reference(e, &list, &args, p));
        for o in [&mut bytecode, &mut plain] {
            o.words[LASTING as usize..FIELDS as usize].fill(0);
        }
        prop_assert_eq!(bytecode, plain);
    }
}

/// p4c hashes by copying into temporaries, then hashing those. Only the hash must be
/// left.
#[test]
fn temporaries_of_a_hash_are_not_written() {
    let copy = |to, from, width| Primitive::Copy {
        dst: FieldRef::alone(to, 32),
        src: FieldRef::alone(from, width),
    };
    let list = [
        copy(4, 0, 32),
        copy(5, 1, 16),
        Primitive::Hash {
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
        algorithm: Algorithm::Crc32,
        input,
    });
    let image = Image::new(program);
    let code = &image.code.actions[0];
    assert!(matches!(code[..], [Op::Hash(_)]), "{code:?}");
    let words: Vec<u64> = (1..=WORDS as u64).map(|w| w * 0x1234_5678).collect();
    let bytecode = outcome(&image, &words, |e, p| e.run_list(code, &[], p));
    let plain = outcome(&image, &words, |e, p| reference(e, &list, &[], p));
    assert_eq!(bytecode.words[2], plain.words[2]);
    assert_ne!(bytecode.words[2], words[2]);
}

/// `while f1 != 0 { f0 = f0 + 2; f1 = f1 - 1 }`, then falls through.
#[test]
fn jumps_lead_back_too() {
    let field = |slot| FieldRef::alone(slot, 32);
    let add = |slot, n| Primitive::Set64 {
        dst: field(slot),
        value: compiled(
            Expr::Bin(
                BinOp::Add,
                Box::new((Expr::Field(field(slot)), Expr::Const(n))),
            ),
            Some(32),
        ),
    };
    let list = [
        Primitive::JumpIfZero {
            condition: compiled(Expr::Field(field(1)), None),
            target: 4,
        },
        add(0, 2),
        add(1, -1),
        Primitive::Jump(0),
        add(0, 100),
    ];
    let image = Image::new(program());
    let code = lower::list(&list, &image.program, &[]);
    let mut words = [0; WORDS];
    words[1] = 7;
    let after = outcome(&image, &words, |e, p| e.run_list(&code, &[], p));
    assert_eq!((after.words[0], after.words[1]), (114, 0));
}

#[test]
fn a_list_that_loops_for_ever_ends() {
    let image = Image::new(program());
    let code = lower::list(&[Primitive::Jump(0)], &image.program, &[]);
    let words = [7; WORDS];
    let after = outcome(&image, &words, |e, p| e.run_list(&code, &[], p));
    assert_eq!(*after.words, words);
}
