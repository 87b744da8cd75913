// SPDX-License-Identifier: Apache-2.0
//! Generates the Scapy layer, `ptf-tests/tidemark_ptf/report.py`.

use super::{Field, Item, Report, total_bits, upper};
use anyhow::Result;
use std::fmt::Write as _;

impl Report {
    pub(super) fn scapy_group(&self) -> Result<String> {
        header(&self.group.fields)
    }

    pub(super) fn scapy_bits(&self) -> Result<String> {
        let mut s = String::new();
        for i in &self.metadata {
            match i.mask.count_ones() {
                1 => writeln!(s, "BIT_{} = 1 << {}", i.name, i.mask.trailing_zeros())?,
                _ => writeln!(s, "BITS_{} = 0x{:04X}  # four bytes each", i.name, i.mask)?,
            }
        }
        for i in &self.domain {
            writeln!(
                s,
                "DOMAIN_BIT_{} = 1 << {}",
                i.name,
                i.mask.trailing_zeros()
            )?;
        }
        let any = |prefix: &str, items: Vec<&Item>| {
            let names: Vec<String> = items
                .iter()
                .map(|i| format!("{prefix}_{}", i.name))
                .collect();
            names.join(" | ")
        };
        for kind in ["forwarded", "dropped"] {
            let sent = |i: &&Item| i.is_sent(kind);
            let items = self.metadata.iter().filter(sent).collect();
            writeln!(s, "{}_BITS = {}", upper(kind), any("BIT", items))?;
        }
        let wide = self.metadata.iter().filter(|i| total_bits(&i.fields) == 64);
        writeln!(s, "# Eight bytes each.")?;
        writeln!(s, "WIDE_BITS = {}", any("BIT", wide.collect()))?;
        writeln!(s, "DOMAIN_BYTES = {{")?;
        for i in &self.domain {
            let bytes = total_bits(&i.fields) / 8;
            writeln!(s, "    DOMAIN_BIT_{}: {bytes},", i.name)?;
        }
        writeln!(s, "}}")?;
        Ok(s)
    }

    pub(super) fn scapy_individual(&self) -> Result<String> {
        let mut s = header(&self.main.fields)?;
        for (items, condition) in [
            (&self.metadata, "_has(BIT"),
            (&self.domain, "_domain_has(DOMAIN_BIT"),
        ] {
            for i in items {
                for f in &i.fields {
                    if i.mask.count_ones() == 1 {
                        writeln!(
                            s,
                            "        ConditionalField({}, {condition}_{})),",
                            f.scapy(),
                            i.name
                        )?;
                    } else {
                        writeln!(
                            s,
                            "        StrLenField(\n            {:?},\n            b\"\",\n            \
                             length_from=lambda p: 4 * bin(p.metadata_bits & BITS_{}).count(\"1\"),\n        ),",
                            f.name, i.name
                        )?;
                    }
                }
            }
        }
        Ok(s)
    }
}

impl Field {
    /// Returns the field of a Scapy layer.
    fn scapy(&self) -> String {
        let default = self.default.as_deref().unwrap_or("0");
        let name = &self.name;
        match (self.bits, self.hex) {
            (8, _) => format!("ByteField({name:?}, {default})"),
            (16, true) => format!("XShortField({name:?}, {default})"),
            (16, false) => format!("ShortField({name:?}, {default})"),
            (32, _) => format!("IntField({name:?}, {default})"),
            (64, _) => format!("LongField({name:?}, {default})"),
            (128, _) => format!("StrFixedLenField({name:?}, bytes(16), 16)"),
            (bits, _) => format!("BitField({name:?}, {default}, {bits})"),
        }
    }
}

fn header(fields: &[Field]) -> Result<String> {
    let mut s = String::new();
    for f in fields {
        writeln!(s, "        {},", f.scapy())?;
    }
    Ok(s)
}
