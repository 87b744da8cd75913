// SPDX-License-Identifier: Apache-2.0
//! Recognises expressions with a common shape.

use super::{Chain, Relation, Right, Shape, Step, Test};
use p4_ir::bits::mask64;
use p4_ir::{BinOp, Expr, FieldRef, UnOp, WrapOp};

impl Shape {
    /// Finds the shape of an expression that wrapping 64-bit arithmetic computes correctly.
    pub(crate) fn new(e: &Expr) -> Self {
        match e {
            Expr::Const(c) => Self::Const(*c),
            Expr::Field(f) if narrow(*f) => Self::Field(*f),
            e => match (test(e), chain(e)) {
                (Some(t), _) => Self::Test(t),
                (None, Some(c)) => Self::Chain(c.done()),
                (None, None) => Self::Tree,
            },
        }
    }
}

fn narrow(f: FieldRef) -> bool {
    f.width <= 64 && !f.variable
}

fn unsigned(e: &Expr) -> Option<FieldRef> {
    match e {
        Expr::Field(f) if narrow(*f) && !f.signed => Some(*f),
        _ => None,
    }
}

fn right(e: &Expr) -> Option<Right> {
    match e {
        Expr::Const(c) => u64::try_from(*c).ok().map(Right::Const),
        Expr::Arg { offset, width } if *width <= 64 => {
            Some(Right::Arg(FieldRef::alone(*offset, *width)))
        }
        other => unsigned(other).map(Right::Field),
    }
}

fn test(e: &Expr) -> Option<Test> {
    match e {
        Expr::Un(op @ (UnOp::Bool | UnOp::BoolNot), x) => {
            let t = match unsigned(x) {
                Some(f) => Test::Compare(f, Relation::Ne, Right::Const(0)),
                None => test(x)?,
            };
            Some(if *op == UnOp::Bool { t } else { t.negated() })
        }
        Expr::Bin(op, p) => {
            let relation = match op {
                BinOp::Eq => (Relation::Eq, Relation::Eq),
                BinOp::Ne => (Relation::Ne, Relation::Ne),
                BinOp::Lt => (Relation::Lt, Relation::Gt),
                BinOp::Gt => (Relation::Gt, Relation::Lt),
                BinOp::Le => (Relation::Le, Relation::Ge),
                BinOp::Ge => (Relation::Ge, Relation::Le),
                BinOp::BoolAnd => return Some(Test::All(both(&p.0, &p.1)?)),
                BinOp::BoolOr => return Some(Test::Any(both(&p.0, &p.1)?)),
                _ => return None,
            };
            if let (Some(f), Some(r)) = (unsigned(&p.0), right(&p.1)) {
                return Some(Test::Compare(f, relation.0, r));
            }
            let (f, r) = (unsigned(&p.1)?, right(&p.0)?);
            Some(Test::Compare(f, relation.1, r))
        }
        _ => None,
    }
}

fn both(a: &Expr, b: &Expr) -> Option<Box<[Test]>> {
    // A number used as a condition holds if it is not 0.
    let one = |e: &Expr| match unsigned(e) {
        Some(f) => Some(Test::Compare(f, Relation::Ne, Right::Const(0))),
        None => test(e),
    };
    Some([one(a)?, one(b)?].into())
}

struct Building {
    first: FieldRef,
    second: Option<(BinOp, FieldRef)>,
    steps: Vec<Step>,
}

impl Building {
    fn then(mut self, s: Step) -> Self {
        match (self.steps.last_mut(), s) {
            (Some(Step::Add(a)), Step::Add(b)) => *a = a.wrapping_add(b),
            _ => self.steps.push(s),
        }
        self
    }

    fn done(self) -> Chain {
        Chain {
            first: self.first,
            second: self.second,
            steps: self.steps.into(),
        }
    }
}

fn chain(e: &Expr) -> Option<Building> {
    match e {
        Expr::Field(f) if narrow(*f) => Some(Building {
            first: *f,
            second: None,
            steps: Vec::new(),
        }),
        Expr::Wrap(WrapOp::SaturateUnsigned, width, x) if *width < 63 => {
            Some(chain(x)?.then(Step::Clamp(0, mask64(*width) as i64)))
        }
        Expr::Bin(op, p) => {
            let commutes = matches!(
                op,
                BinOp::Add | BinOp::Mul | BinOp::And | BinOp::Or | BinOp::Xor
            );
            match (&p.0, &p.1) {
                (x, Expr::Const(c)) => Some(chain(x)?.then(step(*op, *c)?)),
                (Expr::Const(c), x) if commutes => Some(chain(x)?.then(step(*op, *c)?)),
                (Expr::Field(f), Expr::Field(g))
                    if narrow(*f) && narrow(*g) && (commutes || *op == BinOp::Sub) =>
                {
                    Some(Building {
                        first: *f,
                        second: Some((*op, *g)),
                        steps: Vec::new(),
                    })
                }
                _ => None,
            }
        }
        _ => None,
    }
}

fn step(op: BinOp, c: i64) -> Option<Step> {
    let small = || u32::try_from(c).ok().filter(|n| *n < 64);
    Some(match op {
        BinOp::Add => Step::Add(c),
        BinOp::Sub => Step::Add(c.wrapping_neg()),
        BinOp::Mul => Step::Mul(c),
        BinOp::And => Step::And(c),
        BinOp::Or => Step::Or(c),
        BinOp::Xor => Step::Xor(c),
        BinOp::Shl => Step::Shl(small()?),
        BinOp::Shr => Step::Shr(small()?),
        _ => return None,
    })
}
