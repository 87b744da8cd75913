// SPDX-License-Identifier: Apache-2.0
//! The parse graph.

use std::cell::Cell;

use rustc_hash::FxHashMap;
use serde_json::Value;

use super::json::{array, get, hex, hex_u32, opt_str, pair, string};
use super::loader::Loader;
use super::names::find;
use crate::bits::{words_for, words_from_big};
use crate::error::{LoadError, Result, bail};
use crate::expr::{Expr, TypedExpr, Widths};
use crate::parse_graph::{Case, KeyPiece, KeySource, ParseOp, ParseState, Transition};
use crate::primitive::Primitive;
use crate::program::END;

/// A parser operation before adjacent assignments are joined.
enum Part {
    Op(ParseOp),
    Insns(Vec<Primitive>),
}

impl<'a> Loader<'a> {
    pub(super) fn parser(&mut self) -> Result<()> {
        let list = self.top("parsers")?;
        let Some(p) = list.first() else {
            bail!("program has no parser");
        };
        let states = array(p, "parse_states")?;
        let mut ids = FxHashMap::default();
        for (i, s) in states.iter().enumerate() {
            ids.insert(string(s, "name")?, i as u32);
        }
        for s in states {
            let name = string(s, "name")?;
            let state = self
                .state(s, &ids)
                .map_err(|e| e.at(s).inside(&format!("parser state {name}")))?;
            self.program.parse_states.push(state);
        }
        self.program.parse_start = match p.get("init_state") {
            None | Some(Value::Null) => END,
            Some(v) => v
                .as_str()
                .and_then(|n| ids.get(n))
                .copied()
                .ok_or_else(|| LoadError::new("parser starts in an unknown state"))?,
        };
        Ok(())
    }

    fn state(&self, s: &'a Value, ids: &FxHashMap<&'a str, u32>) -> Result<ParseState> {
        let mut ops: Vec<Part> = Vec::new();
        for op in array(s, "parser_ops")? {
            let op = self.parse_op(op).map_err(|e| e.at(op))?;
            // Adjacent assignments run as one list.
            match (ops.last_mut(), op) {
                (Some(Part::Insns(list)), Part::Insns(more)) if !jumps(list) && !jumps(&more) => {
                    list.extend(more);
                }
                (_, op) => ops.push(op),
            }
        }
        let ops = ops
            .into_iter()
            .map(|p| match p {
                Part::Op(op) => op,
                Part::Insns(list) => ParseOp::Run(list),
            })
            .collect();
        let mut key = Vec::new();
        let mut key_bits = 0u32;
        for k in array(s, "transition_key")? {
            let piece = self.key_piece(k)?;
            key_bits += piece.padded_bits;
            key.push(piece);
        }
        let mut transitions = Vec::new();
        for t in array(s, "transitions")? {
            transitions.push(self.transition(t, key_bits, ids)?);
        }
        Ok(ParseState {
            ops,
            key,
            key_words: words_for(key_bits),
            transitions,
        })
    }

    fn parse_op(&self, v: &'a Value) -> Result<Part> {
        let op = string(v, "op")?;
        let p = array(v, "parameters")?;
        let read = Cell::new(0);
        // Returns the next parameter; all must be read.
        let param = || -> Result<&'a Value> {
            let n = read.replace(read.get() + 1);
            p.get(n)
                .ok_or_else(|| LoadError::new(format!("{op} lacks parameters")))
        };
        let part = match op {
            // Adjacent assignments are joined.
            "set" => self.parse_set(param()?, param()?)?,
            "primitive" => Part::Insns(self.primitives(std::slice::from_ref(param()?))?),
            op => Part::Op(self.operation_of_parser(op, &param)?),
        };
        if read.get() < p.len() {
            bail!("{op} has {} parameters, takes {}", p.len(), read.get());
        }
        Ok(part)
    }

    fn operation_of_parser(
        &self,
        op: &str,
        param: &dyn Fn() -> Result<&'a Value>,
    ) -> Result<ParseOp> {
        Ok(match op {
            "extract" => {
                let x = param()?;
                match string(x, "type")? {
                    "regular" => {
                        let id = self.header_id(string(x, "value")?)?;
                        ParseOp::Extract(id)
                    }
                    "stack" => ParseOp::ExtractNext(self.stack_id(string(x, "value")?)?),
                    "union_stack" => ParseOp::ExtractNext(self.union_stack_id(x)?),
                    other => bail!("extract into \"{other}\" is not supported"),
                }
            }
            "extract_VL" => {
                let x = param()?;
                let bits = self.exact(param()?)?;
                match string(x, "type")? {
                    "regular" => ParseOp::ExtractVariable {
                        header: self.header_id(string(x, "value")?)?,
                        bits,
                    },
                    "stack" => ParseOp::ExtractNextVariable {
                        stack: self.stack_id(string(x, "value")?)?,
                        bits,
                    },
                    "union_stack" => ParseOp::ExtractNextVariable {
                        stack: self.union_stack_id(x)?,
                        bits,
                    },
                    other => bail!("variable-length extract into \"{other}\" is not supported"),
                }
            }
            "verify" => ParseOp::Verify {
                condition: self.exact(param()?)?,
                error: match param()? {
                    // In old JSON, the number of the error.
                    Value::Number(n) => {
                        let n = Expr::Const(n.as_i64().unwrap_or(0));
                        TypedExpr::new(n, None, &self.program)
                    }
                    v => self.exact(v)?,
                },
            },
            "advance" => ParseOp::Advance {
                bits: self.exact(param()?)?,
            },
            "shift" => {
                let bytes = param()?
                    .as_u64()
                    .filter(|b| *b < 1 << 16)
                    .ok_or_else(|| LoadError::new("shift by an unknown number of bytes"))?;
                ParseOp::Advance {
                    bits: TypedExpr::new(Expr::Const(bytes as i64 * 8), None, &self.program),
                }
            }
            other => bail!("parser operation \"{other}\" is not supported"),
        })
    }

    fn parse_set(&self, left: &Value, right: &Value) -> Result<Part> {
        if opt_str(right, "type") == Some("lookahead") {
            let (offset_bits, width_bits) = lookahead(right)?;
            return Ok(Part::Op(ParseOp::SetLookahead {
                dst: self.destination(left)?,
                offset_bits,
                width_bits,
            }));
        }
        let dst = self.destination(left)?;
        let value = self.operand(right, 0)?;
        Ok(Part::Insns(vec![self.assignment(dst, value)?]))
    }

    fn key_piece(&self, k: &Value) -> Result<KeyPiece> {
        let (source, width_bits) = match string(k, "type")? {
            "field" => {
                let (h, f) = pair(get(k, "value")?)?;
                let field = self.field(h, f)?;
                (KeySource::Field(field), field.width)
            }
            "stack_field" => {
                let (s, f) = pair(get(k, "value")?)?;
                let stack = self.stack_id(s)?;
                let field = self.stack_field_id(stack, f)?;
                let (width, _) = self.program.stack_field(stack, field);
                (KeySource::StackLast { stack, field }, width)
            }
            "union_stack_field" => {
                let stack = self.union_stack_id(k)?;
                let name = k.pointer("/value/2").and_then(Value::as_str);
                let field = self.stack_field_id(stack, name.unwrap_or_default())?;
                let (width, _) = self.program.stack_field(stack, field);
                (KeySource::StackLast { stack, field }, width)
            }
            "lookahead" => {
                let (offset_bits, width_bits) = lookahead(k)?;
                (KeySource::Lookahead { offset_bits }, width_bits)
            }
            other => bail!("select on \"{other}\" is not supported"),
        };
        Ok(KeyPiece {
            source,
            width_bits,
            padded_bits: width_bits.div_ceil(8) * 8,
        })
    }

    fn transition(
        &self,
        t: &Value,
        key_bits: u32,
        ids: &FxHashMap<&'a str, u32>,
    ) -> Result<Transition> {
        let next = match t.get("next_state") {
            None | Some(Value::Null) => END,
            Some(v) => v
                .as_str()
                .and_then(|n| ids.get(n))
                .copied()
                .ok_or_else(|| LoadError::new(format!("transition to unknown state {v}")))?,
        };
        // JSON before 2.20 has no type.
        let case = match (opt_str(t, "type"), opt_str(t, "value")) {
            (None | Some("hexstr"), Some("default")) => "default",
            (None, _) => "hexstr",
            (Some(kind), _) => kind,
        };
        let case = match case {
            "default" => Case::Default,
            "hexstr" => {
                let mask = match t.get("mask").and_then(Value::as_str) {
                    Some(m) => hex(t, m)?,
                    None => (num_bigint::BigInt::from(1) << key_bits) - 1,
                };
                let value = hex(t, string(t, "value")?)? & &mask;
                let words = |n: &num_bigint::BigInt| {
                    let mut w = vec![0; words_for(key_bits)];
                    words_from_big(n, key_bits, &mut w);
                    w
                };
                Case::Value {
                    value: words(&value),
                    mask: words(&mask),
                }
            }
            "parse_vset" => {
                let name = string(t, "value")?;
                Case::Set(find(&self.value_set_ids, "value set", name)?)
            }
            other => bail!("transition of type \"{other}\" is not supported"),
        };
        Ok(Transition { case, next })
    }
}

fn jumps(list: &[Primitive]) -> bool {
    list.iter()
        .any(|i| matches!(i, Primitive::Jump(_) | Primitive::JumpIfZero { .. }))
}

/// Reads `value: [offset, width]`, in bits.
fn lookahead(v: &Value) -> Result<(u32, u32)> {
    let list = array(v, "value")?;
    let part = |i: usize| -> Result<u32> {
        let n = match list.get(i) {
            Some(Value::String(s)) => hex_u32(v, s)?,
            Some(x) => x
                .as_u64()
                .and_then(|n| u32::try_from(n).ok())
                .unwrap_or(u32::MAX),
            None => u32::MAX,
        };
        if n > 1 << 16 {
            bail!("lookahead out of range");
        }
        Ok(n)
    };
    Ok((part(0)?, part(1)?))
}
