// SPDX-License-Identifier: Apache-2.0
//! Calculations, checksums, and arrays of state.

use serde_json::Value;

use super::json::{array, flag, get, opt_str, pair, size, small, string};
use super::loader::Loader;
use super::names::find;
use crate::bits::words_for;
use crate::calculation::{Algorithm, CalcInput, Calculation, Checksum, Piece};
use crate::error::{LoadError, Result, bail, bail_at};
use crate::field::FieldRef;
use crate::program::{CounterArray, MeterArray, RegisterArray};

/// Words that a cell of a counter or meter occupies while the program runs.
const COUNTER_WORDS: usize = 2;
const METER_WORDS: usize = 8;

impl Loader<'_> {
    pub(super) fn arrays(&mut self) -> Result<()> {
        for r in self.top("register_arrays")? {
            let (name, size) = name_and_size(r, "register")?;
            let width = small(r, "bitwidth")?;
            self.cells(r, name, size, words_for(width))?;
            self.register_ids
                .insert(name, self.program.registers.len() as u32);
            self.program.registers.push(RegisterArray {
                name: name.to_owned(),
                size,
                width,
            });
        }
        for c in self.top("counter_arrays")? {
            let (name, size) = name_and_size(c, "counter")?;
            self.cells(c, name, size, COUNTER_WORDS)?;
            self.counter_ids
                .insert(name, self.program.counters.len() as u32);
            self.program.counters.push(CounterArray {
                name: name.to_owned(),
                size,
                table: None,
            });
        }
        for m in self.top("meter_arrays")? {
            let (name, size) = name_and_size(m, "meter")?;
            self.cells(m, name, size, METER_WORDS)?;
            self.meter_ids
                .insert(name, self.program.meters.len() as u32);
            self.program.meters.push(MeterArray {
                name: name.to_owned(),
                size,
                table: None,
                bytes: opt_str(m, "type") == Some("bytes"),
            });
        }
        if let Some(x) = self.top("extern_instances")?.first() {
            let name = opt_str(x, "name").unwrap_or("?");
            bail_at!(x, "extern \"{name}\" is not supported");
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

    /// Checks that the memory suffices for these cells and all cells before them.
    fn cells(&mut self, at: &Value, name: &str, size: usize, words: usize) -> Result<()> {
        self.cell_words = self.cell_words.saturating_add(size.saturating_mul(words));
        if Vec::<u64>::new()
            .try_reserve_exact(self.cell_words)
            .is_err()
        {
            bail_at!(at, "{name}: not enough memory for its {size} cells");
        }
        Ok(())
    }

    pub(super) fn calculations(&mut self) -> Result<()> {
        for c in self.top("calculations")? {
            let name = string(c, "name")?;
            let calculation = self
                .calculation(string(c, "algo")?, array(c, "input")?)
                .map_err(|e| e.at(c).inside(&format!("calculation {name}")))?;
            self.calculation_ids
                .insert(name, self.program.calculations.len() as u32);
            self.program.calculations.push(calculation);
        }
        Ok(())
    }

    pub(super) fn calculation(&self, algo: &str, input: &[Value]) -> Result<Calculation> {
        let algorithm = match algo {
            "csum16" => Algorithm::Csum16,
            // The custom variants start out as the standard ones.
            "crc16" | "crc16_custom" => Algorithm::Crc16,
            "crc32" | "crc32_custom" => Algorithm::Crc32,
            "crcCCITT" => Algorithm::CrcCcitt,
            "xor16" => Algorithm::Xor16,
            "xor32" => Algorithm::Xor32,
            "identity" => Algorithm::Identity,
            "round_robin" => Algorithm::RoundRobin,
            other => bail!("hash algorithm \"{other}\" is not supported"),
        };
        let mut out = Vec::new();
        for i in input {
            match string(i, "type")? {
                "field" => {
                    let (h, f) = pair(get(i, "value")?)?;
                    push_field(
                        &mut out,
                        self.field(h, f)?,
                        self.validity(self.header_id(h)?),
                    );
                }
                "hexstr" => {
                    let width_bits = small(i, "bitwidth")?;
                    out.push(CalcInput::Const {
                        words: self.constant_words(i, string(i, "value")?, width_bits)?,
                        width_bits,
                    });
                }
                "header" => {
                    let id = self.header_id(string(i, "value")?)?;
                    let header = self.program.headers.get(id as usize);
                    for f in header.map_or(&[][..], |h| &h.fields) {
                        push_field(&mut out, *f, self.validity(id));
                    }
                }
                "payload" => out.push(CalcInput::Payload),
                other => bail!("input of type \"{other}\" is not supported"),
            }
        }
        Ok(Calculation {
            algorithm,
            input: out,
        })
    }

    /// Returns the slot of the validity bit; `None` for metadata, which is always valid.
    fn validity(&self, header: u32) -> Option<u32> {
        let header = self.program.headers.get(header as usize);
        header.filter(|h| !h.metadata).map(|h| h.valid)
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
            bail!("type \"{kind}\" is not supported");
        }
        let (h, f) = pair(get(c, "target")?)?;
        let name = string(c, "calculation")?;
        let valid = self.validity(self.header_id(h)?);
        let condition = match c.get("if_cond") {
            None | Some(Value::Null) => None,
            Some(v) => Some(self.exact(v)?),
        };
        Ok(Checksum {
            target: self.field(h, f)?,
            calculation: find(&self.calculation_ids, "calculation", name)?,
            verify: flag(c, "verify"),
            update: c.get("update").and_then(Value::as_bool).unwrap_or(true),
            valid,
            condition,
        })
    }

    pub(super) fn deparser(&mut self) -> Result<()> {
        let list = self.top("deparsers")?;
        let Some(d) = list.first() else {
            bail!("program has no deparser");
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

/// Reads name and size; a direct array has size 0, as its cells are its table's entries.
fn name_and_size<'a>(a: &'a Value, kind: &str) -> Result<(&'a str, usize)> {
    let name = string(a, "name")?;
    if flag(a, "is_direct") {
        return Ok((name, 0));
    }
    let size = size(a, "size").map_err(|e| e.inside(&format!("{kind} {name}")))?;
    Ok((name, size))
}

/// Appends a field; if it adjoins the last piece in the same word, the two are joined.
fn push_field(out: &mut Vec<CalcInput>, field: FieldRef, valid: Option<u32>) {
    if field.width > 64 || field.variable {
        out.push(CalcInput::Field { field, valid });
        return;
    }
    let piece = Piece {
        slot: field.slot,
        shift: field.shift,
        width: field.width as u8,
    };
    let pieces = match out.last_mut() {
        Some(CalcInput::Run { pieces, valid: v }) if *v == valid => pieces,
        _ => {
            let pieces = vec![piece];
            return out.push(CalcInput::Run { pieces, valid });
        }
    };
    match pieces.last_mut() {
        Some(last)
            if last.slot == piece.slot
                && u32::from(piece.shift) + u32::from(piece.width) == u32::from(last.shift) =>
        {
            last.shift = piece.shift;
            last.width += piece.width;
        }
        _ => pieces.push(piece),
    }
}
