// SPDX-License-Identifier: Apache-2.0
//! Generates the Wireshark dissector, `tools/wireshark/tidemark_report.lua`.

use super::{Field, Report, placed, total_bits};
use anyhow::Result;
use std::fmt::Write as _;

impl Report {
    pub(super) fn lua_fields(&self) -> Result<String> {
        let mut s = String::from("local f = {\n");
        let headers = [&self.group, &self.main].map(|h| &h.fields);
        let items = self.metadata.iter().chain(&self.domain).map(|i| &i.fields);
        for fields in headers.into_iter().chain(items) {
            for (f, at) in placed(fields) {
                if f.label.is_some() {
                    writeln!(s, "  {} = {},", f.name, f.lua(at))?;
                }
                for flag in &f.flags {
                    writeln!(
                        s,
                        "  {n} = ProtoField.bool(\"tidemark.{n}\", {:?}, {}, nil, 0x{:02X}),",
                        flag.label,
                        f.bits,
                        flag.mask,
                        n = flag.name,
                    )?;
                }
            }
        }
        Ok(s + "}\n")
    }

    pub(super) fn lua_metadata(&self) -> Result<String> {
        let mut s = String::new();
        for (name, items) in [
            ("metadata", &self.metadata),
            ("domain_metadata", &self.domain),
        ] {
            writeln!(s, "local {name} = {{")?;
            for i in items {
                for bit in (0..16).rev().map(|b| 1u16 << b).filter(|b| i.mask & b != 0) {
                    let bytes = total_bits(&i.fields) / 8;
                    let list = match i.fields.iter().any(|f| f.label.is_some()) {
                        true => lua_list(&i.fields)?,
                        false => format!("{{ {{ f.reserved, 0, {bytes} }} }}"),
                    };
                    writeln!(s, "  {{ 0x{bit:04X}, {bytes}, {list} }},")?;
                }
            }
            s += "}\n";
        }
        Ok(s)
    }
}

impl Field {
    /// Returns the bytes of the header that Wireshark shows for the field, and the mask if the
    /// field does not fill them.
    fn span(&self, at: u32) -> (u32, u32, Option<u64>) {
        let ones = (1u64 << (self.bits % 64)).wrapping_sub(1);
        if at.is_multiple_of(8) && self.bits.is_multiple_of(8) {
            (at / 8, self.bits / 8, None)
        } else if at % 8 + self.bits <= 8 {
            (at / 8, 1, Some(ones << (8 - at % 8 - self.bits)))
        } else {
            (at / 32 * 4, 4, Some(ones << (32 - at % 32 - self.bits)))
        }
    }

    fn lua(&self, at: u32) -> String {
        let (_, bytes, mask) = self.span(at);
        let label = self.label.as_deref().unwrap_or_default();
        let name = format!("\"tidemark.{}\", {label:?}", self.name);
        let mask = mask.map(|m| format!("0x{m:0w$X}", w = 2 * bytes as usize));
        if self.bits == 1 {
            return format!(
                "ProtoField.bool({name}, 8, nil, {})",
                mask.unwrap_or_default()
            );
        }
        if self.bits > 64 {
            return format!("ProtoField.bytes({name})");
        }
        let base = if self.hex { "base.HEX" } else { "base.DEC" };
        let values = match (&self.values, &mask) {
            (Some(values), _) => format!(", {values}"),
            (None, Some(_)) => ", nil".to_owned(),
            (None, None) => String::new(),
        };
        let mask = mask.map_or(String::new(), |m| format!(", {m}"));
        format!("ProtoField.uint{}({name}, {base}{values}{mask})", 8 * bytes)
    }
}

/// Lists fields with first byte and number of bytes.
fn lua_list(fields: &[Field]) -> Result<String> {
    let mut parts = Vec::new();
    for (f, at) in placed(fields) {
        let (first, bytes, _) = f.span(at);
        if f.label.is_some() {
            parts.push(format!("{{ f.{}, {first}, {bytes} }}", f.name));
        }
        for flag in &f.flags {
            parts.push(format!("{{ f.{}, {first}, {bytes} }}", flag.name));
        }
    }
    Ok(format!("{{ {} }}", parts.join(", ")))
}
