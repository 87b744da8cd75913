// SPDX-License-Identifier: Apache-2.0
//! Actions and their primitives.

use std::cell::Cell;

use serde_json::Value;

use super::json::{array, hex_u32, number, of_type, small, string};
use super::loader::Loader;
use super::names::find;
use crate::bits::words_for;
use crate::error::{LoadError, Result, bail};
use crate::expr::{Arithmetic, BinOp, Expr, TypedExpr, Widths, simplify};
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
        let given = array(v, "parameters")?;
        let read = Cell::new(0);
        // Returns the next parameter; all must be read.
        let p = || -> Result<&Value> {
            let n = read.replace(read.get() + 1);
            given.get(n).ok_or_else(|| {
                LoadError::new(format!("{op} has {} parameters, needs more", given.len()))
            })
        };
        let jump_target = |x: &Value| -> Result<u32> {
            let t = hex_u32(x, of_type(x, "hexstr")?)?;
            if t as usize > count {
                bail!("{op} jumps to {t} of {count} primitives");
            }
            Ok(t)
        };
        let primitive = match op {
            "assign" | "modify_field" => self.assign(p()?, p()?)?,
            "add_to_field" => self.compute(BinOp::Add, p()?, None, p()?)?,
            "subtract_from_field" => self.compute(BinOp::Sub, p()?, None, p()?)?,
            "add" => self.compute(BinOp::Add, p()?, Some(p()?), p()?)?,
            "subtract" => self.compute(BinOp::Sub, p()?, Some(p()?), p()?)?,
            "bit_and" => self.compute(BinOp::And, p()?, Some(p()?), p()?)?,
            "bit_or" => self.compute(BinOp::Or, p()?, Some(p()?), p()?)?,
            "bit_xor" => self.compute(BinOp::Xor, p()?, Some(p()?), p()?)?,
            "shift_left" => self.compute(BinOp::Shl, p()?, Some(p()?), p()?)?,
            "shift_right" => self.compute(BinOp::Shr, p()?, Some(p()?), p()?)?,
            "no_op" => Primitive::NoOp,
            "assign_VL" => {
                let (dst, src) = (self.destination(p()?)?, self.destination(p()?)?);
                if !dst.variable || !src.variable {
                    bail!("assign_VL of a field of fixed length");
                }
                Primitive::CopyVariable { dst, src }
            }
            "assign_header" | "copy_header" => Primitive::CopyHeader {
                dst: self.header_operand(p()?)?,
                src: self.header_operand(p()?)?,
            },
            "assign_union" => Primitive::CopyUnion {
                pairs: self.union_pairs(p()?, p()?)?,
            },
            "assign_header_stack" | "assign_union_stack" => Primitive::CopyStack {
                dst: self.stack_operand(p()?)?,
                src: self.stack_operand(p()?)?,
            },
            "add_header" => Primitive::AddHeader(self.header_operand(p()?)?),
            "remove_header" => Primitive::RemoveHeader(self.header_operand(p()?)?),
            "push" => Primitive::Push {
                stack: self.stack_operand(p()?)?,
                count: hex_u32(v, of_type(p()?, "hexstr")?)?,
            },
            "pop" => Primitive::Pop {
                stack: self.stack_operand(p()?)?,
                count: hex_u32(v, of_type(p()?, "hexstr")?)?,
            },
            "exit" => Primitive::Exit,
            "_jump" => Primitive::Jump(jump_target(p()?)?),
            "_jump_if_zero" => Primitive::JumpIfZero {
                condition: self.exact(p()?)?,
                target: jump_target(p()?)?,
            },
            "mark_to_drop" => match given {
                // p4c passed no parameter before 2019.
                [] => self.drop(None)?,
                _ => self.drop(Some(p()?))?,
            },
            "drop" => self.drop(None)?,
            "clone_ingress_pkt_to_egress" => Primitive::CloneIngress {
                session: self.exact(p()?)?,
                list: self.exact(p()?)?,
            },
            "clone_egress_pkt_to_egress" => Primitive::CloneEgress {
                session: self.exact(p()?)?,
                list: self.exact(p()?)?,
            },
            "resubmit" => Primitive::Resubmit {
                list: self.exact(p()?)?,
            },
            "recirculate" => Primitive::Recirculate {
                list: self.exact(p()?)?,
            },
            "truncate" => Primitive::Truncate {
                bytes: self.exact(p()?)?,
            },
            "modify_field_with_hash_based_offset" => Primitive::Hash {
                dst: self.destination(p()?)?,
                base: self.exact(p()?)?,
                calculation: self.named(&self.calculation_ids, p()?, "calculation")?,
                max: self.exact(p()?)?,
            },
            "modify_field_rng_uniform" => Primitive::Random {
                dst: self.destination(p()?)?,
                low: self.exact(p()?)?,
                high: self.exact(p()?)?,
            },
            "count" => Primitive::Count {
                counter: self.named(&self.counter_ids, p()?, "counter_array")?,
                index: self.exact(p()?)?,
            },
            "execute_meter" => Primitive::Meter {
                meter: self.named(&self.meter_ids, p()?, "meter_array")?,
                index: self.exact(p()?)?,
                dst: self.destination(p()?)?,
            },
            "register_read" => Primitive::RegisterRead {
                dst: self.destination(p()?)?,
                register: self.named(&self.register_ids, p()?, "register_array")?,
                index: self.exact(p()?)?,
            },
            "register_write" => {
                let register = self.named(&self.register_ids, p()?, "register_array")?;
                let width = self
                    .program
                    .registers
                    .get(register as usize)
                    .map_or(0, |r| r.width);
                Primitive::RegisterWrite {
                    register,
                    index: self.exact(p()?)?,
                    value: TypedExpr::new(self.operand(p()?, 0)?, Some(width), &self.program),
                }
            }
            "assert" | "assume" => Primitive::Assert {
                condition: self.exact(p()?)?,
                what: v
                    .pointer("/source_info/source_fragment")
                    .and_then(Value::as_str)
                    .unwrap_or(op)
                    .to_owned(),
            },
            "log_msg" => self.log(p()?, p()?)?,
            // The receiver has no meaning: there is one controller.
            "generate_digest" => {
                self.exact(p()?)?;
                Primitive::Digest {
                    list: self.exact(p()?)?,
                }
            }
            other => bail!("primitive \"{other}\" is not supported"),
        };
        if read.get() < given.len() {
            bail!("{op} has {} parameters, takes {}", given.len(), read.get());
        }
        Ok(primitive)
    }

    /// Drops through standard metadata, or through a copy of it that the action was given.
    fn drop(&self, header: Option<&Value>) -> Result<Primitive> {
        let Some(h) = header else {
            let std = &self.program.std;
            let no_port = || LoadError::new("drop: the program has no egress_spec");
            return Ok(Primitive::MarkToDrop {
                egress_spec: std.egress_spec.ok_or_else(no_port)?,
                mcast_grp: std.mcast_grp,
            });
        };
        let name = of_type(h, "header")?;
        Ok(Primitive::MarkToDrop {
            egress_spec: self.field(name, "egress_spec")?,
            mcast_grp: self.field(name, "mcast_grp").ok(),
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

    /// `dst = a op b` of P4_14; without `a`, `dst = dst op b`.
    fn compute(&self, op: BinOp, dst: &Value, a: Option<&Value>, b: &Value) -> Result<Primitive> {
        let both = (self.operand(a.unwrap_or(dst), 0)?, self.operand(b, 0)?);
        self.assignment(self.destination(dst)?, Expr::Bin(op, Box::new(both)))
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

    /// Returns the cheapest instruction that stores `value` in `dst`.
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
        find(ids, kind, of_type(v, kind)?)
    }

    pub(super) fn action_by_json_id(&self, v: &Value, key: &str) -> Result<u32> {
        let id = number(v, key)?;
        self.action_ids
            .get(&id)
            .copied()
            .ok_or_else(|| LoadError::new(format!("no action with id {id}")).at(v))
    }
}
