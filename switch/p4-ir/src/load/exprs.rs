// SPDX-License-Identifier: Apache-2.0
//! Expressions and operands.

use num_traits::ToPrimitive;
use serde_json::Value;

use super::json::{array, get, hex, pair, string};
use super::loader::Loader;
use crate::error::{LoadError, Result, bail_at};
use crate::expr::{BigConst, BinOp, Expr, TypedExpr, UnOp, WrapOp};
use crate::field::FieldRef;

/// Nesting that the recursive evaluator is trusted with.
const MAX_DEPTH: u32 = 200;

impl Loader<'_> {
    /// The operand as a number whose exact value matters.
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
            "field" => {
                let (h, f) = pair(value)?;
                Expr::Field(self.field(h, f)?)
            }
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
                let h = get(v, "right")?;
                Ok(Expr::Field(self.field(string(h, "value")?, "$valid$")?))
            }
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
        let kind = |o: &Value| o.get("type").and_then(Value::as_str).map(str::to_owned);
        let equal = match (kind(left).as_deref(), kind(right).as_deref()) {
            (Some("header"), Some("header")) => Expr::HeadersEqual(
                self.header_id(string(left, "value")?)?,
                self.header_id(string(right, "value")?)?,
            ),
            (Some("header_stack"), Some("header_stack")) => {
                Expr::StacksEqual(self.stack_operand(left)?, self.stack_operand(right)?)
            }
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
            "header_stack" => self.stack_id(string(v, "value")?),
            other => bail_at!(v, "\"{other}\" where a header stack is needed"),
        }
    }

    /// `access_field(dereference_header_stack(stack, index), field)`.
    fn access_field(&self, v: &Value, depth: u32) -> Result<Expr> {
        let left = get(v, "left")?;
        let inner = match left.get("value") {
            Some(x) if x.get("op").is_some() => x,
            Some(x) => x.get("value").unwrap_or(x),
            None => left,
        };
        let op = string(inner, "op")?;
        if op != "dereference_header_stack" {
            bail_at!(v, "field access into \"{op}\" is not supported");
        }
        let stack = self.stack_operand(get(inner, "left")?)?;
        let index = self.operand(get(inner, "right")?, depth + 1)?;
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

    /// An operand that is written to.
    pub(super) fn destination(&self, v: &Value) -> Result<FieldRef> {
        match string(v, "type")? {
            "field" => {
                let (h, f) = pair(get(v, "value")?)?;
                self.field(h, f)
            }
            other => bail_at!(v, "\"{other}\" as a destination is not supported"),
        }
    }

    pub(super) fn header_operand(&self, v: &Value) -> Result<u32> {
        match string(v, "type")? {
            "header" => self.header_id(string(v, "value")?),
            other => bail_at!(v, "\"{other}\" where a header is needed"),
        }
    }

    pub(super) fn params_of(v: &Value, n: usize) -> Result<&[Value]> {
        let p = array(v, "parameters")?;
        if p.len() < n {
            bail_at!(v, "primitive has {} parameters, needs {n}", p.len());
        }
        Ok(p)
    }
}
