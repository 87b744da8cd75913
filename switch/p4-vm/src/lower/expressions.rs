// SPDX-License-Identifier: Apache-2.0
//! Lowers expressions to instructions on the accumulator, and conditions to jumps.

use super::emitter::{Emitter, Label};
use crate::bytecode::{Arith, Op};
use crate::layout::shape::{Relation, Right, Shape, Test};
use p4_ir::Bits;
use p4_ir::TypedExpr;
use p4_ir::bits::mask64;
use p4_ir::{Arithmetic, BinOp, Expr, FieldRef, UnOp, WrapOp};

/// Instructions that leave a value in the accumulator, and the words that they read.
pub(super) struct Value {
    pub ops: Vec<Op>,
    /// `None`: any words.
    pub reads: Option<Vec<u32>>,
}

/// Lowers an expression: exact if `c` is exact, else its low 64 bits.
pub(super) fn value(c: &TypedExpr, emitter: &Emitter<'_>) -> Value {
    let mut v = as_written(c);
    if v.reads.is_none() {
        return v;
    }
    let mut reads = Vec::new();
    for op in &mut v.ops {
        match op {
            Op::Load(b) | Op::Field(_, b) => {
                *b = emitter.origin(*b);
                reads.push(b.slot);
            }
            Op::LoadSigned { bits, .. } => reads.push(bits.slot),
            _ => {}
        }
    }
    v.reads = Some(reads);
    v
}

fn as_written(c: &TypedExpr) -> Value {
    let mut v = Value {
        ops: Vec::new(),
        reads: Some(Vec::new()),
    };
    if let Shape::Test(Test::Compare(f, relation, Right::Const(n))) = Shape::of(c) {
        v.ops = vec![Op::Load(f.into()), Op::Is(relation, n)];
        return v;
    }
    if c.arithmetic == Arithmetic::Wrapping64 && instructions(&c.expr, &mut v).is_some() {
        return v;
    }
    Value {
        ops: vec![Op::Eval(Box::new(c.into()))],
        reads: None,
    }
}

fn narrow(f: &FieldRef) -> bool {
    f.width <= 64 && !f.variable
}

fn argument(offset: u32, width: u32) -> Bits {
    FieldRef::alone(offset, width).into()
}

/// Appends instructions; `None` if they cannot express `e`, and then `v` must not be used.
fn instructions(e: &Expr, v: &mut Value) -> Option<()> {
    let op = match e {
        Expr::Const(c) => Op::Imm(*c),
        Expr::BigConst(b) => Op::Imm(b.low as i64),
        Expr::Field(f) if narrow(f) => {
            if f.signed {
                Op::LoadSigned {
                    bits: (*f).into(),
                    width: f.width as u8,
                }
            } else {
                Op::Load((*f).into())
            }
        }
        Expr::Arg { offset, width } if *width <= 64 => Op::LoadArg(argument(*offset, *width)),
        Expr::Un(UnOp::BitNot, x) => {
            instructions(x, v)?;
            Op::Xor(-1)
        }
        Expr::Un(UnOp::Neg, x) => {
            instructions(x, v)?;
            Op::Mul(-1)
        }
        Expr::Wrap(WrapOp::SaturateUnsigned, width, x) if *width < 63 => {
            instructions(x, v)?;
            Op::Clamp {
                low: 0,
                high: mask64(*width) as i64,
            }
        }
        Expr::Wrap(WrapOp::TwosComplement, width, x) if (1..=64).contains(width) => {
            instructions(x, v)?;
            Op::SignExtend((64 - width) as u8)
        }
        Expr::Bin(op, p) => return operation(*op, &p.0, &p.1, v),
        _ => return None,
    };
    v.ops.push(op);
    Some(())
}

fn leaf(e: &Expr) -> bool {
    match e {
        Expr::Const(_) | Expr::BigConst(_) => true,
        Expr::Field(f) => narrow(f) && !f.signed,
        Expr::Arg { width, .. } => *width <= 64,
        _ => false,
    }
}

fn operation(op: BinOp, a: &Expr, b: &Expr, v: &mut Value) -> Option<()> {
    if let (BinOp::Shl | BinOp::Shr, Expr::Const(n)) = (op, b) {
        let n = u8::try_from(*n).ok().filter(|n| *n < 64)?;
        instructions(a, v)?;
        v.ops.push(if op == BinOp::Shl {
            Op::Shl(n)
        } else {
            Op::Shr(n)
        });
        return Some(());
    }
    let arith = match op {
        BinOp::Add => Arith::Add,
        BinOp::Sub => Arith::Sub,
        BinOp::Mul => Arith::Mul,
        BinOp::And => Arith::And,
        BinOp::Or => Arith::Or,
        BinOp::Xor => Arith::Xor,
        _ => return None,
    };
    // The right-hand side is a single operand, or is computed first and saved.
    let (a, b) = match (leaf(a), leaf(b)) {
        (_, true) => (a, b),
        (true, false) if arith != Arith::Sub => (b, a),
        _ if v.ops.is_empty() => {
            instructions(b, v)?;
            v.ops.push(Op::Hold);
            // Nothing else is saved in here, as `v` is no longer empty.
            instructions(a, v)?;
            v.ops.push(Op::Held(arith));
            return Some(());
        }
        _ => return None,
    };
    instructions(a, v)?;
    let constant = match b {
        Expr::Const(c) => Some(*c),
        Expr::BigConst(c) => Some(c.low as i64),
        _ => None,
    };
    let next = match (constant, b) {
        (Some(c), _) => match arith {
            Arith::Add => Op::Add(c),
            Arith::Sub => Op::Add(c.wrapping_neg()),
            Arith::Mul => Op::Mul(c),
            Arith::And => Op::And(c),
            Arith::Or => Op::Or(c),
            Arith::Xor => Op::Xor(c),
        },
        (None, Expr::Field(f)) => Op::Field(arith, (*f).into()),
        (None, Expr::Arg { offset, width }) => Op::Arg(arith, argument(*offset, *width)),
        _ => return None,
    };
    match (v.ops.last_mut(), next) {
        (Some(Op::Add(x)), Op::Add(y)) => *x = x.wrapping_add(y),
        (Some(Op::And(x)), Op::And(y)) => *x &= y,
        (_, next) => v.ops.push(next),
    }
    Some(())
}

/// Returns instructions that set the index.
pub(super) fn index(c: &TypedExpr, emitter: &Emitter<'_>) -> Value {
    let mut v = value(c, emitter);
    match v.ops.as_slice() {
        [Op::Load(b)] => v.ops = vec![Op::IndexField(*b)],
        [Op::Imm(n)] if (0..i64::from(u32::MAX)).contains(n) => {
            v.ops = vec![Op::IndexImm(*n as u32)];
        }
        [Op::Eval(c)] => v.ops = vec![Op::IndexEval(c.clone())],
        _ => v.ops.push(Op::Index),
    }
    v
}

/// Jumps to `target` if the condition equals `when`, and otherwise falls through.
pub(super) fn jump_when(c: &TypedExpr, when: bool, target: Label, emitter: &mut Emitter<'_>) {
    let test = match Shape::of(c) {
        Shape::Const(v) => {
            if (v != 0) == when {
                emitter.push_jump(Op::Jump(target.target()));
            }
            return;
        }
        Shape::Field(f) => Some(Test::Compare(f, Relation::Ne, Right::Const(0))),
        Shape::Test(t) => Some(t),
        Shape::Chain(_) | Shape::Tree => None,
    };
    match test {
        Some(t) => branch(&t, when, target, emitter),
        None if when => {
            let over = emitter.label();
            jump_when(c, false, over, emitter);
            emitter.push_jump(Op::Jump(target.target()));
            emitter.place(over);
        }
        None => emitter.push_jump(Op::JumpIfFalse {
            condition: Box::new(c.into()),
            target: target.target(),
        }),
    }
}

fn branch(t: &Test, when: bool, target: Label, emitter: &mut Emitter<'_>) {
    match t {
        Test::Compare(f, relation, right) => {
            let relation = if when { *relation } else { relation.negated() };
            compare(
                emitter.origin((*f).into()),
                relation,
                *right,
                target,
                emitter,
            );
        }
        // One false test decides `All`, and one true test decides `Any`.
        Test::All(list) | Test::Any(list) => {
            let decides = matches!(t, Test::Any(_));
            if when == decides {
                for t in list {
                    branch(t, when, target, emitter);
                }
                return;
            }
            let over = emitter.label();
            if let Some((last, rest)) = list.split_last() {
                for t in rest {
                    branch(t, decides, over, emitter);
                }
                branch(last, when, target, emitter);
            }
            emitter.place(over);
        }
    }
}

fn compare(f: Bits, relation: Relation, right: Right, target: Label, emitter: &mut Emitter<'_>) {
    let target = target.target();
    match right {
        Right::Const(c) if c > f.mask => {
            if matches!(relation, Relation::Ne | Relation::Lt | Relation::Le) {
                emitter.push_jump(Op::Jump(target));
            }
        }
        Right::Const(c) => {
            let (slot, mask, value) = (f.slot, f.mask << f.shift, c << f.shift);
            emitter.push_jump(match (relation, value) {
                (Relation::Eq, 0) => Op::JumpIfClear { slot, target, mask },
                (Relation::Ne | Relation::Gt, 0) => Op::JumpIfSet { slot, target, mask },
                (Relation::Eq, _) => Op::JumpIfEqual {
                    slot,
                    target,
                    mask,
                    value,
                },
                (Relation::Ne, _) => Op::JumpUnlessEqual {
                    slot,
                    target,
                    mask,
                    value,
                },
                _ => Op::JumpIf {
                    relation,
                    slot,
                    target,
                    mask,
                    value,
                },
            });
        }
        Right::Field(g) => {
            let with = emitter.origin(g.into());
            emitter.push_jump(Op::Load(f));
            emitter.push_jump(Op::JumpIfField {
                relation,
                target,
                with,
            });
        }
        Right::Arg(g) => {
            emitter.push_jump(Op::Load(f));
            emitter.push_jump(Op::JumpIfArg {
                relation,
                target,
                with: g.into(),
            });
        }
    }
}
