// SPDX-License-Identifier: Apache-2.0
//! Calculations, checksums, and the arrays of state.

use serde_json::Value;

use super::json::{array, flag, get, opt_str, pair, small, string};
use super::loader::Loader;
use crate::calculation::{Algorithm, CalcInput, Calculation, Checksum, Piece};
use crate::error::{LoadError, Result};
use crate::program::{CounterArray, MeterArray, RegisterArray};

impl Loader<'_> {
    pub(super) fn arrays(&mut self) -> Result<()> {
        for r in self.top("register_arrays")? {
            let name = string(r, "name")?;
            self.register_ids
                .insert(name, self.program.registers.len() as u32);
            self.program.registers.push(RegisterArray {
                name: name.to_owned(),
                size: small(r, "size").map_err(|e| e.inside(&format!("register {name}")))? as usize,
                width: small(r, "bitwidth")?,
            });
        }
        for c in self.top("counter_arrays")? {
            let name = string(c, "name")?;
            self.counter_ids
                .insert(name, self.program.counters.len() as u32);
            let size = if flag(c, "is_direct") {
                0
            } else {
                small(c, "size").map_err(|e| e.inside(&format!("counter {name}")))? as usize
            };
            self.program.counters.push(CounterArray {
                name: name.to_owned(),
                size,
                table: None,
            });
        }
        for m in self.top("meter_arrays")? {
            let name = string(m, "name")?;
            self.meter_ids
                .insert(name, self.program.meters.len() as u32);
            let size = if flag(m, "is_direct") {
                0
            } else {
                small(m, "size").map_err(|e| e.inside(&format!("meter {name}")))? as usize
            };
            self.program.meters.push(MeterArray {
                name: name.to_owned(),
                size,
                table: None,
                bytes: opt_str(m, "type") == Some("bytes"),
                rates: small(m, "rate_count").unwrap_or(2) as usize,
            });
        }
        if let Some(x) = self.top("extern_instances")?.first() {
            let name = opt_str(x, "name").unwrap_or("?");
            return Err(LoadError::new(format!("extern \"{name}\" is not supported")).at(x));
        }
        for s in self.top("parse_vsets")? {
            let name = string(s, "name")?;
            self.value_set_ids
                .insert(name, self.program.value_sets.len() as u32);
            self.program.value_sets.push(crate::parse_graph::ValueSet {
                name: name.to_owned(),
                width_bits: small(s, "compressed_bitwidth").unwrap_or(0),
            });
        }
        Ok(())
    }

    pub(super) fn calculations(&mut self) -> Result<()> {
        for c in self.top("calculations")? {
            let name = string(c, "name")?;
            let calculation = self
                .calculation(name, string(c, "algo")?, array(c, "input")?)
                .map_err(|e| e.at(c).inside(&format!("calculation {name}")))?;
            self.calculation_ids
                .insert(name, self.program.calculations.len() as u32);
            self.program.calculations.push(calculation);
        }
        Ok(())
    }

    pub(super) fn calculation(
        &self,
        name: &str,
        algo: &str,
        input: &[Value],
    ) -> Result<Calculation> {
        let algorithm = match algo {
            "csum16" => Algorithm::Csum16,
            // The custom variants start as the standard ones.
            "crc16" | "crc16_custom" => Algorithm::Crc16,
            "crc32" | "crc32_custom" => Algorithm::Crc32,
            "crcCCITT" => Algorithm::CrcCcitt,
            "xor16" => Algorithm::Xor16,
            "xor32" => Algorithm::Xor32,
            "identity" => Algorithm::Identity,
            "round_robin" => Algorithm::RoundRobin,
            other => {
                return Err(LoadError::new(format!(
                    "hash algorithm \"{other}\" is not supported"
                )));
            }
        };
        let mut out = Vec::new();
        for i in input {
            let next = match string(i, "type")? {
                "field" => {
                    let (h, f) = pair(get(i, "value")?)?;
                    let field = self.field(h, f)?;
                    let header = self.program.headers.get(self.header_id(h)? as usize);
                    let valid = header.filter(|h| !h.metadata).map(|h| h.valid);
                    if field.width > 64 || field.variable {
                        out.push(CalcInput::Field { field, valid });
                        continue;
                    }
                    let piece = Piece {
                        slot: field.slot,
                        shift: field.shift,
                        width: field.width as u8,
                    };
                    if let Some(CalcInput::Run { pieces, valid: v }) = out.last_mut()
                        && *v == valid
                    {
                        join(pieces, piece);
                        continue;
                    }
                    CalcInput::Run {
                        pieces: vec![piece],
                        valid,
                    }
                }
                "hexstr" => {
                    let width_bits = small(i, "bitwidth")?;
                    CalcInput::Const {
                        words: self.constant_words(i, string(i, "value")?, width_bits)?,
                        width_bits,
                    }
                }
                "header" => CalcInput::Header(self.header_id(string(i, "value")?)?),
                "payload" => CalcInput::Payload,
                other => {
                    return Err(LoadError::new(format!(
                        "input of type \"{other}\" is not supported"
                    )));
                }
            };
            out.push(next);
        }
        Ok(Calculation {
            name: name.to_owned(),
            algorithm,
            input: out,
        })
    }

    pub(super) fn checksums(&mut self) -> Result<()> {
        for c in self.top("checksums")? {
            let checksum = self.checksum(c).map_err(|e| e.at(c).inside("checksum"))?;
            self.program.checksums.push(checksum);
        }
        Ok(())
    }

    fn checksum(&self, c: &Value) -> Result<Checksum> {
        let kind = string(c, "type")?;
        if kind != "generic" {
            return Err(LoadError::new(format!("type \"{kind}\" is not supported")));
        }
        let (h, f) = pair(get(c, "target")?)?;
        let name = string(c, "calculation")?;
        let header = self.program.headers.get(self.header_id(h)? as usize);
        let valid = header.filter(|h| !h.metadata).map(|h| h.valid);
        let condition = match c.get("if_cond") {
            None | Some(Value::Null) => None,
            Some(v) => Some(self.exact(v)?),
        };
        Ok(Checksum {
            target: self.field(h, f)?,
            calculation: *self
                .calculation_ids
                .get(name)
                .ok_or_else(|| LoadError::new(format!("no calculation \"{name}\"")))?,
            verify: flag(c, "verify"),
            update: c.get("update").and_then(Value::as_bool).unwrap_or(true),
            valid,
            condition,
        })
    }

    pub(super) fn deparser(&mut self) -> Result<()> {
        let list = self.top("deparsers")?;
        let Some(d) = list.first() else {
            return Err(LoadError::new("program has no deparser"));
        };
        for name in array(d, "order")? {
            let name = name
                .as_str()
                .ok_or_else(|| LoadError::new("malformed BMv2 JSON: deparser order"))?;
            let id = self.header_id(name)?;
            self.program.deparser_order.push(id);
        }
        if let Some(p) = d.get("primitives").and_then(Value::as_array) {
            self.program.deparser_primitives =
                self.primitives(p).map_err(|e| e.inside("deparser"))?;
        }
        Ok(())
    }
}

/// Appends to the last piece where the two are neighbours in one word.
fn join(pieces: &mut Vec<Piece>, p: Piece) {
    if let Some(last) = pieces.last_mut()
        && last.slot == p.slot
        && u32::from(p.shift) + u32::from(p.width) == u32::from(last.shift)
    {
        last.shift = p.shift;
        last.width += p.width;
        return;
    }
    pieces.push(p);
}
