// SPDX-License-Identifier: Apache-2.0
//! Expressions and operands.

use num_traits::ToPrimitive;
use serde_json::Value;

use super::json::{get, hex, opt_str, pair, string};
use super::loader::Loader;
use crate::error::{LoadError, Result, bail_at};
use crate::expr::{BigConst, BinOp, Expr, HeaderRef, TypedExpr, UnOp, WrapOp, simplify};
use crate::field::FieldRef;

/// Deepest nesting allowed for the recursive evaluator.
const MAX_DEPTH: u32 = 200;

impl Loader<'_> {
    /// Reads the operand as a number whose exact value matters.
    pub(super) fn exact(&self, v: &Value) -> Result<TypedExpr> {
        Ok(TypedExpr::new(self.operand(v, 0)?, None, &self.program))
    }

    pub(super) fn operand(&self, v: &Value, depth: u32) -> Result<Expr> {
        if depth > MAX_DEPTH {
            bail_at!(v, "expression is nested too deeply");
        }
        let kind = string(v, "type")?;
        let value = get(v, "value")?;
        let name = || {
            value
                .as_str()
                .ok_or_else(|| LoadError::new(format!("malformed BMv2 JSON: {kind} operand")).at(v))
        };
        Ok(match kind {
            "field" => match value.get(0).filter(|h| h.is_object()) {
                // An element selected by an index: p4c's `stack[index].isValid()`.
                Some(element) => {
                    let (stack, index) = self.element(element, depth)?;
                    match value.get(1).and_then(Value::as_str).unwrap_or_default() {
                        "$valid$" => self.valid_at(stack, index, v)?,
                        name => Expr::StackAt {
                            stack,
                            field: self.stack_field_id(stack, name)?,
                            index: Box::new(index),
                        },
                    }
                }
                None => {
                    let (h, f) = pair(value)?;
                    Expr::Field(self.field(h, f)?)
                }
            },
            "hexstr" => {
                let n = hex(v, name()?)?;
                match n.to_i64() {
                    Some(n) => Expr::Const(n),
                    None => Expr::BigConst(Box::new(BigConst::new(n))),
                }
            }
            "bool" => Expr::Const(i64::from(value.as_bool().unwrap_or(false))),
            "local" | "runtime_data" => {
                let i = value.as_u64().unwrap_or(u64::MAX) as usize;
                let p = self.params.get(i).ok_or_else(|| {
                    LoadError::new(format!("action has no parameter number {i}")).at(v)
                })?;
                Expr::Arg {
                    offset: p.offset,
                    width: p.width,
                }
            }
            "stack_field" => {
                let (s, f) = pair(value)?;
                let stack = self.stack_id(s)?;
                Expr::StackLast {
                    stack,
                    field: self.stack_field_id(stack, f)?,
                }
            }
            "expression" => {
                // At top level p4c wraps an expression in another.
                if value.get("type").is_some() {
                    self.operand(value, depth + 1)?
                } else {
                    self.operation(value, depth)?
                }
            }
            other => bail_at!(v, "operand of type \"{other}\" is not supported"),
        })
    }

    fn operation(&self, v: &Value, depth: u32) -> Result<Expr> {
        let op = string(v, "op")?;
        let side = |key: &str| self.operand(get(v, key)?, depth + 1);
        let un = |op: UnOp| Ok(Expr::Un(op, Box::new(side("right")?)));
        let bin = |op: BinOp| Ok(Expr::Bin(op, Box::new((side("left")?, side("right")?))));
        let lacks_left = v.get("left").is_none_or(Value::is_null);
        match op {
            "+" if lacks_left => side("right"),
            "-" if lacks_left => un(UnOp::Neg),
            "+" => bin(BinOp::Add),
            "-" => bin(BinOp::Sub),
            "*" => bin(BinOp::Mul),
            "/" => bin(BinOp::Div),
            "%" => bin(BinOp::Mod),
            "<<" => bin(BinOp::Shl),
            ">>" => bin(BinOp::Shr),
            "<" => bin(BinOp::Lt),
            ">" => bin(BinOp::Gt),
            "<=" => bin(BinOp::Le),
            ">=" => bin(BinOp::Ge),
            "&" => bin(BinOp::And),
            "|" => bin(BinOp::Or),
            "^" => bin(BinOp::Xor),
            "and" => bin(BinOp::BoolAnd),
            "or" => bin(BinOp::BoolOr),
            "~" => un(UnOp::BitNot),
            "not" => un(UnOp::BoolNot),
            "d2b" => un(UnOp::Bool),
            "b2d" => side("right"),
            "==" => self.equality(v, depth, BinOp::Eq),
            "!=" => self.equality(v, depth, BinOp::Ne),
            "valid" => {
                let h = self.header_operand(get(v, "right")?)?;
                self.valid(h, v)
            }
            "valid_union" => self.valid_union(v),
            "?" => Ok(Expr::Cond(Box::new((
                side("cond")?,
                side("left")?,
                side("right")?,
            )))),
            "two_comp_mod" => self.wrap(v, depth, WrapOp::TwosComplement),
            "usat_cast" => self.wrap(v, depth, WrapOp::SaturateUnsigned),
            "sat_cast" => self.wrap(v, depth, WrapOp::SaturateSigned),
            "last_stack_index" => Ok(Expr::LastIndex(self.stack_operand(get(v, "right")?)?)),
            "size_stack" => {
                let s = self.stack_operand(get(v, "right")?)?;
                let n = self
                    .program
                    .stacks
                    .get(s as usize)
                    .map_or(0, |s| s.headers.len());
                Ok(Expr::Const(n as i64))
            }
            "access_field" => self.access_field(v, depth),
            other => bail_at!(v, "operator \"{other}\" is not supported"),
        }
    }

    fn wrap(&self, v: &Value, depth: u32, op: WrapOp) -> Result<Expr> {
        let x = self.operand(get(v, "left")?, depth + 1)?;
        match self.operand(get(v, "right")?, depth + 1)? {
            Expr::Const(w) if (1..=1 << 16).contains(&w) => {
                Ok(Expr::Wrap(op, w as u32, Box::new(x)))
            }
            _ => bail_at!(v, "cast to a width that is not a constant"),
        }
    }

    fn equality(&self, v: &Value, depth: u32, op: BinOp) -> Result<Expr> {
        let (left, right) = (get(v, "left")?, get(v, "right")?);
        let equal = match kind(left) {
            "header" | "dereference_header_stack" | "access_union_header" => {
                let both = (self.header_operand(left)?, self.header_operand(right)?);
                Expr::HeadersEqual(Box::new(both))
            }
            "header_stack" | "header_union_stack" => {
                Expr::StacksEqual(self.stack_operand(left)?, self.stack_operand(right)?)
            }
            "header_union" => self.unions_equal(left, right)?,
            _ => {
                let both = Box::new((
                    self.operand(left, depth + 1)?,
                    self.operand(right, depth + 1)?,
                ));
                return Ok(Expr::Bin(op, both));
            }
        };
        Ok(if op == BinOp::Eq {
            equal
        } else {
            Expr::Un(UnOp::BoolNot, Box::new(equal))
        })
    }

    pub(super) fn stack_operand(&self, v: &Value) -> Result<u32> {
        match string(v, "type")? {
            "header_stack" | "header_union_stack" => self.stack_id(string(v, "value")?),
            other => bail_at!(v, "\"{other}\" where a header stack is needed"),
        }
    }

    /// Reads `access_field(dereference_header_stack(stack, index), field)`.
    fn access_field(&self, v: &Value, depth: u32) -> Result<Expr> {
        let (stack, index) = self.element(get(v, "left")?, depth)?;
        // The field is an index into the header type.
        let field = match get(v, "right")? {
            Value::Number(n) => n.as_u64().unwrap_or(u64::MAX) as u32,
            other => match self.operand(other, depth + 1)? {
                Expr::Const(n) => n as u32,
                _ => bail_at!(v, "access_field without a constant"),
            },
        };
        let elements = self
            .program
            .stacks
            .get(stack as usize)
            .and_then(|s| s.headers.first())
            .and_then(|h| self.program.headers.get(*h as usize))
            .map_or(0, |h| h.fields.len());
        if field as usize > elements {
            bail_at!(v, "access_field has no field {field}");
        }
        Ok(Expr::StackAt {
            stack,
            field,
            index: Box::new(index),
        })
    }

    /// Reads an operand that is written to.
    pub(super) fn destination(&self, v: &Value) -> Result<FieldRef> {
        match string(v, "type")? {
            "field" => {
                let (h, f) = pair(get(v, "value")?)?;
                self.field(h, f)
            }
            other => bail_at!(v, "\"{other}\" as a destination is not supported"),
        }
    }

    pub(super) fn header_operand(&self, v: &Value) -> Result<HeaderRef> {
        match kind(v) {
            "header" => Ok(HeaderRef::Of(self.header_id(string(inner(v), "value")?)?)),
            // `stack.last` of a parser.
            "stack_field" => {
                let (stack, "last") = pair(get(inner(v), "value")?)? else {
                    bail_at!(v, "a field of a stack where a header is needed");
                };
                let stack = self.stack_id(stack)?;
                let index = Box::new(Expr::LastIndex(stack));
                Ok(HeaderRef::At { stack, index })
            }
            "dereference_header_stack" | "access_union_header" => {
                let (stack, index) = self.element(v, 0)?;
                let index = Box::new(simplify(index, None, &self.program));
                Ok(HeaderRef::At { stack, index })
            }
            other => bail_at!(v, "\"{other}\" where a header is needed"),
        }
    }

    /// Reads a stack element that an index selects at run time.
    fn element(&self, v: &Value, depth: u32) -> Result<(u32, Expr)> {
        let e = inner(v);
        match string(e, "op")? {
            "dereference_header_stack" | "dereference_stack" | "dereference_union_stack" => Ok((
                self.stack_operand(get(e, "left")?)?,
                self.operand(get(e, "right")?, depth + 1)?,
            )),
            "access_union_header" => {
                let (stack, index) = self.element(get(e, "left")?, depth)?;
                Ok((self.union_stack_member(stack, e)?, index))
            }
            other => bail_at!(v, "\"{other}\" where an element of a stack is needed"),
        }
    }

    fn valid(&self, h: HeaderRef, at: &Value) -> Result<Expr> {
        match h {
            HeaderRef::Of(id) => {
                let h = self.program.headers.get(id as usize);
                let h = h.ok_or_else(|| LoadError::new("validity of an unknown header").at(at))?;
                Ok(Expr::Field(FieldRef::alone(h.valid, 1)))
            }
            HeaderRef::At { stack, index } => self.valid_at(stack, *index, at),
        }
    }

    fn valid_at(&self, stack: u32, index: Expr, at: &Value) -> Result<Expr> {
        let first = self.program.stacks.get(stack as usize);
        let first = first.and_then(|s| s.headers.first());
        let h = first.and_then(|h| self.program.headers.get(*h as usize));
        let h = h.ok_or_else(|| LoadError::new("validity in an unknown stack").at(at))?;
        Ok(Expr::StackAt {
            stack,
            // The field after the last is the validity bit.
            field: h.fields.len() as u32,
            index: Box::new(index),
        })
    }

    /// Returns an expression that tells whether any member is valid.
    fn valid_union(&self, v: &Value) -> Result<Expr> {
        let u = get(v, "right")?;
        let mut members = Vec::new();
        if kind(u) == "dereference_union_stack" {
            let (first, index) = self.element(u, 0)?;
            let others = self.program.stacks.get(first as usize);
            let others = others.map_or(0, |s| s.others.len() as u32);
            for stack in first..=first + others {
                members.push(self.valid_at(stack, index.clone(), v)?);
            }
        } else {
            for id in self.union_operand(u)? {
                members.push(self.valid(HeaderRef::Of(*id), v)?);
            }
        }
        let or = |a, b| Expr::Bin(BinOp::BoolOr, Box::new((a, b)));
        Ok(members.into_iter().reduce(or).unwrap_or(Expr::Const(0)))
    }

    /// As in BMv2, two unions without a valid member are not equal.
    fn unions_equal(&self, left: &Value, right: &Value) -> Result<Expr> {
        let pairs = self.union_pairs(left, right)?;
        let and = |a, b| Expr::Bin(BinOp::BoolAnd, Box::new((a, b)));
        let or = |a, b| Expr::Bin(BinOp::BoolOr, Box::new((a, b)));
        let mut equal = Expr::Const(1);
        let mut valid = Expr::Const(0);
        for (a, b) in pairs {
            valid = or(valid, self.valid(HeaderRef::Of(a), left)?);
            let both = Box::new((HeaderRef::Of(a), HeaderRef::Of(b)));
            equal = and(equal, Expr::HeadersEqual(both));
        }
        Ok(and(valid, equal))
    }

    /// Pairs the members of two unions of one type.
    pub(super) fn union_pairs(&self, a: &Value, b: &Value) -> Result<Vec<(u32, u32)>> {
        let (x, y) = (self.union_operand(a)?, self.union_operand(b)?);
        if x.len() != y.len() {
            bail_at!(a, "header unions of different types");
        }
        Ok(x.iter().copied().zip(y.iter().copied()).collect())
    }
}

/// Returns the expression without those that p4c wraps it in.
fn inner(v: &Value) -> &Value {
    let mut v = v;
    while v.get("op").is_none()
        && let Some(x) = v.get("value").filter(|x| x.is_object())
    {
        v = x;
    }
    v
}

/// Returns the type of an operand, or the operator of an expression.
fn kind(v: &Value) -> &str {
    let v = inner(v);
    opt_str(v, "op").or(opt_str(v, "type")).unwrap_or("?")
}
