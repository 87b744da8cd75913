// SPDX-License-Identifier: Apache-2.0
//! Header types, instances, stacks, field aliases, field lists, errors.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use serde_json::Value;

use super::json::{array, flag, number, pair, string};
use super::layout;
use super::loader::Loader;
use crate::bits::words_for;
use crate::error::{LoadError, Result, bail, bail_at};
use crate::field::FieldRef;
use crate::header::{Header, Stack};
use crate::parse_graph::ParserErrors;

/// Most words of a packet's header vector.
const MAX_WORDS: usize = 1 << 16;

struct FieldType<'a> {
    name: &'a str,
    width: u32,
    signed: bool,
    variable: bool,
}

impl<'a> Loader<'a> {
    pub(super) fn headers(&mut self) -> Result<()> {
        let mut types = FxHashMap::default();
        for t in self.top("header_types")? {
            types.insert(string(t, "name")?, field_types(t)?);
        }
        let unions = self.union_types()?;
        let instances = self.top("headers")?;
        // Metadata first, so that a single fill clears it.
        let mut next_slot = 0usize;
        for metadata in [true, false] {
            for h in instances {
                let (name, kind) = (string(h, "name")?, string(h, "header_type")?);
                // p4c declares some unions as metadata, with a type that is no header type.
                if let (None, Some(members)) = (types.get(kind), unions.get(kind)) {
                    if !metadata {
                        self.declared_as_header(name, members, |l, name, kind| {
                            l.header(h, name, kind, false, &types, &mut next_slot)
                        })?;
                    }
                } else if flag(h, "metadata") == metadata {
                    self.header(h, name.into(), kind, metadata, &types, &mut next_slot)?;
                }
            }
            if metadata {
                self.program.metadata_words = 0..next_slot;
            }
        }
        for s in self.top("header_stacks")? {
            self.stack(s, &mut next_slot)?;
        }
        self.unions(&mut next_slot)?;
        self.program.words = next_slot;
        if next_slot > MAX_WORDS {
            bail!("headers and metadata need {next_slot} words, more than {MAX_WORDS}");
        }
        for a in self.top("field_aliases")? {
            let (Some(name), Some(target)) = (a.get(0).and_then(Value::as_str), a.get(1)) else {
                bail!("malformed BMv2 JSON: field_aliases");
            };
            self.aliases.insert(name, pair(target)?);
        }
        self.standard_metadata();
        self.program.aqm = self.aqm_fields();
        self.errors()?;
        self.field_lists()
    }

    fn header(
        &mut self,
        h: &'a Value,
        name: Cow<'a, str>,
        type_name: &'a str,
        metadata: bool,
        types: &FxHashMap<&'a str, Vec<FieldType<'a>>>,
        next_slot: &mut usize,
    ) -> Result<u32> {
        let fields = types.get(type_name).ok_or_else(|| {
            LoadError::new(format!(
                "header \"{name}\" has unknown type \"{type_name}\""
            ))
            .at(h)
        })?;
        let id = self.program.headers.len() as u32;
        let valid = *next_slot as u32;
        *next_slot += 1;
        let start = *next_slot;
        let mut out = Vec::new();
        let mut fixed_bits = 0u32;
        let mut variable = None;
        let packed = if metadata {
            None
        } else {
            layout::pack(fields.iter().map(|f| (f.width, f.variable)))
        };
        for (i, f) in fields.iter().enumerate() {
            if f.variable {
                if variable.is_some() {
                    bail_at!(h, "header \"{name}\" has two variable-length fields");
                }
                variable = Some(i);
                *next_slot += 1; // its length
            }
            let place = packed.as_ref().and_then(|p| p.places.get(i));
            out.push(FieldRef {
                signed: f.signed,
                variable: f.variable,
                shift: place.map_or(0, |p| p.shift),
                ..FieldRef::alone(
                    place.map_or(*next_slot as u32, |p| start as u32 + p.word),
                    f.width,
                )
            });
            self.field_ids.insert((id, f.name), i as u32);
            if packed.is_none() {
                *next_slot += words_for(f.width);
            }
            if !f.variable {
                fixed_bits = fixed_bits.saturating_add(f.width);
            }
            if *next_slot > MAX_WORDS {
                bail_at!(h, "header \"{name}\" is too large");
            }
        }
        let word_bytes = packed.map_or_else(Vec::new, |p| p.word_bytes);
        *next_slot += word_bytes.len();
        self.program.headers.push(Header {
            metadata,
            valid,
            word_bytes,
            fields: out,
            words: start..*next_slot,
            fixed_bits,
            variable,
            rivals: Vec::new(),
        });
        self.header_ids.insert(name, id);
        Ok(id)
    }

    fn stack(&mut self, s: &'a Value, next_slot: &mut usize) -> Result<()> {
        let name = string(s, "name")?;
        let id = self.program.stacks.len() as u32;
        let mut members = Vec::new();
        let mut by_json_id = FxHashMap::default();
        for h in self.top("headers")? {
            by_json_id.insert(number(h, "id")?, string(h, "name")?);
        }
        for m in array(s, "header_ids")? {
            let header = m
                .as_u64()
                .and_then(|id| by_json_id.get(&id))
                .and_then(|n| self.header_ids.get(*n))
                .copied()
                .ok_or_else(|| {
                    LoadError::new(format!("stack \"{name}\" has an unknown element")).at(s)
                })?;
            members.push(header);
        }
        if members.is_empty() {
            bail_at!(s, "stack \"{name}\" has no elements");
        }
        self.program.stacks.push(Stack {
            headers: members,
            next: *next_slot as u32,
            others: Vec::new(),
        });
        *next_slot += 1;
        self.stack_ids.insert(name, id);
        Ok(())
    }

    fn errors(&mut self) -> Result<()> {
        let mut known = FxHashMap::default();
        for e in self.top("errors")? {
            if let (Some(name), Some(value)) = (
                e.get(0).and_then(Value::as_str),
                e.get(1).and_then(Value::as_u64),
            ) {
                known.insert(name, value);
            }
        }
        let of = |name: &str| known.get(name).copied().unwrap_or(0);
        self.program.errors = ParserErrors {
            packet_too_short: of("PacketTooShort"),
            header_too_short: of("HeaderTooShort"),
            stack_out_of_bounds: of("StackOutOfBounds"),
            invalid_argument: of("ParserInvalidArgument"),
        };
        Ok(())
    }
}

fn field_types(t: &Value) -> Result<Vec<FieldType<'_>>> {
    let bad = || LoadError::new("malformed BMv2 JSON: header field").at(t);
    let list = array(t, "fields")?;
    let fixed_bits: u64 = list
        .iter()
        .filter_map(|f| f.get(1).and_then(Value::as_u64))
        .fold(0, u64::saturating_add);
    let mut out = Vec::new();
    for f in list {
        let name = f.get(0).and_then(Value::as_str).ok_or_else(bad)?;
        let (width, variable) = match f.get(1) {
            Some(Value::String(s)) if s == "*" => {
                // The length is that of the whole header.
                let bytes = number(t, "max_length")?;
                let bits = bytes.saturating_mul(8).checked_sub(fixed_bits);
                (bits.ok_or_else(bad)?, true)
            }
            Some(w) => (w.as_u64().ok_or_else(bad)?, false),
            None => return Err(bad()),
        };
        if width > 1 << 16 {
            bail_at!(t, "field \"{name}\" is wider than 65536 bits");
        }
        out.push(FieldType {
            name,
            width: width as u32,
            signed: f.get(2).and_then(Value::as_bool).unwrap_or(false),
            variable,
        });
    }
    Ok(out)
}
