// SPDX-License-Identifier: Apache-2.0
//! Actions and their primitives.

use serde_json::Value;

use super::json::{array, hex_u32, number, small, string};
use super::loader::Loader;
use super::names::find;
use crate::bits::words_for;
use crate::error::{LoadError, Result, bail};
use crate::expr::{Arithmetic, Expr, TypedExpr, Widths, simplify};
use crate::field::FieldRef;
use crate::primitive::{Constant, Primitive};
use crate::program::{Action, Param};

impl<'a> Loader<'a> {
    pub(super) fn actions(&mut self) -> Result<()> {
        for a in self.top("actions")? {
            let name = string(a, "name")?;
            let id = number(a, "id")?;
            let mut offset = 0u32;
            self.params = Vec::new();
            for p in array(a, "runtime_data")? {
                let width = small(p, "bitwidth")?;
                self.params.push(Param {
                    name: string(p, "name")?.to_owned(),
                    width,
                    offset,
                });
                offset += words_for(width) as u32;
            }
            let primitives = self
                .primitives(array(a, "primitives")?)
                .map_err(|e| e.at(a).inside(&format!("action {name}")))?;
            self.action_ids
                .insert(id, self.program.actions.len() as u32);
            self.program.actions.push(Action {
                name: name.to_owned(),
                params: std::mem::take(&mut self.params),
                arg_words: offset as usize,
                primitives,
            });
        }
        Ok(())
    }

    pub(super) fn primitives(&self, list: &'a [Value]) -> Result<Vec<Primitive>> {
        list.iter()
            .map(|p| {
                let op = string(p, "op")?;
                self.primitive(op, p, list.len()).map_err(|e| e.at(p))
            })
            .collect()
    }

    pub(super) fn primitive(&self, op: &str, v: &Value, count: usize) -> Result<Primitive> {
        let p = |n: usize| -> Result<&Value> {
            Self::params_of(v, n + 1)?
                .get(n)
                .ok_or_else(|| LoadError::new(format!("{op} lacks parameters")))
        };
        let jump_target = |x: &Value| -> Result<u32> {
            let t = hex_u32(x, string(x, "value")?)?;
            if t as usize > count {
                bail!("{op} jumps to {t} of {count} primitives");
            }
            Ok(t)
        };
        Ok(match op {
            "assign" => self.assign(p(0)?, p(1)?)?,
            "assign_VL" => {
                let (dst, src) = (self.destination(p(0)?)?, self.destination(p(1)?)?);
                if !dst.variable || !src.variable {
                    bail!("assign_VL of a field of fixed length");
                }
                Primitive::CopyVariable { dst, src }
            }
            "assign_header" => Primitive::CopyHeader {
                dst: self.header_operand(p(0)?)?,
                src: self.header_operand(p(1)?)?,
            },
            "assign_header_stack" => Primitive::CopyStack {
                dst: self.stack_operand(p(0)?)?,
                src: self.stack_operand(p(1)?)?,
            },
            "add_header" => Primitive::AddHeader(self.header_operand(p(0)?)?),
            "remove_header" => Primitive::RemoveHeader(self.header_operand(p(0)?)?),
            "push" => Primitive::Push {
                stack: self.stack_operand(p(0)?)?,
                count: hex_u32(v, string(p(1)?, "value")?)?,
            },
            "pop" => Primitive::Pop {
                stack: self.stack_operand(p(0)?)?,
                count: hex_u32(v, string(p(1)?, "value")?)?,
            },
            "exit" => Primitive::Exit,
            "_jump" => Primitive::Jump(jump_target(p(0)?)?),
            "_jump_if_zero" => Primitive::JumpIfZero {
                condition: self.exact(p(0)?)?,
                target: jump_target(p(1)?)?,
            },
            "mark_to_drop" => Primitive::MarkToDrop,
            "clone_ingress_pkt_to_egress" => Primitive::CloneIngress {
                session: self.exact(p(0)?)?,
                list: self.exact(p(1)?)?,
            },
            "clone_egress_pkt_to_egress" => Primitive::CloneEgress {
                session: self.exact(p(0)?)?,
                list: self.exact(p(1)?)?,
            },
            "resubmit" => Primitive::Resubmit {
                list: self.exact(p(0)?)?,
            },
            "recirculate" => Primitive::Recirculate {
                list: self.exact(p(0)?)?,
            },
            "truncate" => Primitive::Truncate {
                bytes: self.exact(p(0)?)?,
            },
            "modify_field_with_hash_based_offset" => Primitive::Hash {
                dst: self.destination(p(0)?)?,
                base: self.exact(p(1)?)?,
                calculation: self.named(&self.calculation_ids, p(2)?, "calculation")?,
                max: self.exact(p(3)?)?,
            },
            "modify_field_rng_uniform" => Primitive::Random {
                dst: self.destination(p(0)?)?,
                low: self.exact(p(1)?)?,
                high: self.exact(p(2)?)?,
            },
            "count" => Primitive::Count {
                counter: self.named(&self.counter_ids, p(0)?, "counter_array")?,
                index: self.exact(p(1)?)?,
            },
            "execute_meter" => Primitive::Meter {
                meter: self.named(&self.meter_ids, p(0)?, "meter_array")?,
                index: self.exact(p(1)?)?,
                dst: self.destination(p(2)?)?,
            },
            "register_read" => Primitive::RegisterRead {
                dst: self.destination(p(0)?)?,
                register: self.named(&self.register_ids, p(1)?, "register_array")?,
                index: self.exact(p(2)?)?,
            },
            "register_write" => {
                let register = self.named(&self.register_ids, p(0)?, "register_array")?;
                let width = self
                    .program
                    .registers
                    .get(register as usize)
                    .map_or(0, |r| r.width);
                Primitive::RegisterWrite {
                    register,
                    index: self.exact(p(1)?)?,
                    value: TypedExpr::new(self.operand(p(2)?, 0)?, Some(width), &self.program),
                }
            }
            "assert" | "assume" => Primitive::Assert {
                condition: self.exact(p(0)?)?,
                what: v
                    .pointer("/source_info/source_fragment")
                    .and_then(Value::as_str)
                    .unwrap_or(op)
                    .to_owned(),
            },
            "log_msg" => self.log(v)?,
            "assign_union" | "assign_union_stack" => bail!("{op}: header unions are not supported"),
            // The receiver means nothing: there is one controller.
            "generate_digest" => Primitive::Digest {
                list: self.exact(p(1)?)?,
            },
            other => bail!("primitive \"{other}\" is not supported"),
        })
    }

    fn assign(&self, left: &Value, right: &Value) -> Result<Primitive> {
        if string(left, "type")? == "expression" {
            return self.assign_indexed(left, right);
        }
        let dst = self.destination(left)?;
        let value = self.operand(right, 0)?;
        self.assignment(dst, value)
    }

    /// `stack[expression].field = value`.
    fn assign_indexed(&self, left: &Value, right: &Value) -> Result<Primitive> {
        let Expr::StackAt {
            stack,
            field,
            index,
        } = self.operand(left, 0)?
        else {
            bail!("assignment to an expression");
        };
        let (width, _) = self.program.stack_field(stack, field);
        Ok(Primitive::SetAt {
            stack,
            field,
            index: TypedExpr::new(*index, None, &self.program),
            value: TypedExpr::new(self.operand(right, 0)?, Some(width), &self.program),
        })
    }

    /// The cheapest instruction that stores `value` in `dst`.
    pub(super) fn assignment(&self, dst: FieldRef, value: Expr) -> Result<Primitive> {
        let value = simplify(value, (!dst.variable).then_some(dst.width), &self.program);
        if dst.variable {
            return match value {
                Expr::Field(src) if src.variable => Ok(Primitive::CopyVariable { dst, src }),
                _ => bail!("assignment of a number to a varbit"),
            };
        }
        if dst.width > 64 {
            return Ok(match value {
                Expr::Field(src) if src.width <= dst.width && !src.signed && !src.variable => {
                    Primitive::CopyWide { dst, src }
                }
                other => Primitive::Set {
                    dst,
                    value: TypedExpr::new(other, Some(dst.width), &self.program),
                },
            });
        }
        let value = match value {
            Expr::Const(c) => {
                return Ok(Primitive::SetConst(Constant {
                    slot: dst.slot,
                    keep: !(dst.mask << dst.shift),
                    value: (c as u64 & dst.mask) << dst.shift,
                }));
            }
            Expr::Field(src)
                if src.width <= 64 && !src.variable && (!src.signed || src.width >= dst.width) =>
            {
                return Ok(Primitive::Copy { dst, src });
            }
            Expr::Arg { offset, width } if width <= 64 => {
                return Ok(Primitive::SetArg { dst, offset });
            }
            other => TypedExpr::new(other, Some(dst.width), &self.program),
        };
        Ok(if value.arithmetic == Arithmetic::Wrapping64 {
            Primitive::Set64 { dst, value }
        } else {
            Primitive::Set { dst, value }
        })
    }

    fn named(
        &self,
        ids: &rustc_hash::FxHashMap<&'a str, u32>,
        v: &Value,
        kind: &str,
    ) -> Result<u32> {
        let found = string(v, "type")?;
        if found != kind {
            bail!("\"{found}\" where a {kind} is needed");
        }
        find(ids, kind, string(v, "value")?)
    }

    pub(super) fn action_by_json_id(&self, v: &Value, key: &str) -> Result<u32> {
        let id = number(v, key)?;
        self.action_ids
            .get(&id)
            .copied()
            .ok_or_else(|| LoadError::new(format!("no action with id {id}")).at(v))
    }
}
