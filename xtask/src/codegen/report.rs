// SPDX-License-Identifier: Apache-2.0
//! Fields of a report, from `contract/report.toml`: the codec's masks and places,
//! the Scapy layer, the Wireshark dissector and the table of the documents.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::{Generated, read};

const SOURCE: &str = "contract/report.toml";
const CODEC: &str = "collector/int-report/src/layout.rs";
const SCAPY: &str = "ptf-tests/tidemark_ptf/report.py";
const WIRESHARK: &str = "tools/wireshark/tidemark_report.lua";
const DOCUMENT: &str = "docs/reference/reports.md";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Report {
    group: Header,
    main: Header,
    metadata: Vec<Item>,
    domain: Vec<Item>,
}

/// Fields that are always there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    p4: String,
    fields: Vec<Field>,
}

/// Fields that are there when a bit is set.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    name: String,
    mask: u16,
    #[serde(default)]
    sent: Vec<String>,
    p4: Option<String>,
    fields: Vec<Field>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Field {
    name: String,
    bits: u32,
    label: Option<String>,
    default: Option<String>,
    #[serde(default)]
    hex: bool,
    values: Option<String>,
    p4: Option<String>,
    #[serde(default)]
    flags: Vec<Flag>,
    meaning: String,
}

/// One bit of a field.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Flag {
    name: String,
    mask: u64,
    label: String,
}

/// A field and where it begins within its header or item.
type Placed<'a> = (&'a Field, u32);

pub(super) fn generate(root: &Path) -> Result<Vec<Generated>> {
    let report = Report::read(root)?;
    Ok(vec![
        Generated::file(CODEC, report.codec()?),
        Generated::block(SCAPY, "bits", report.scapy_bits()?),
        Generated::block(
            SCAPY,
            "group header",
            scapy_header(&report.group.fields, "        ")?,
        ),
        Generated::block(SCAPY, "individual report", report.scapy_individual()?),
        Generated::block(WIRESHARK, "fields", report.lua_fields()?),
        Generated::block(WIRESHARK, "metadata", report.lua_metadata()?),
        Generated::block(DOCUMENT, "fields", report.document()?),
    ])
}

fn placed(fields: &[Field]) -> Vec<Placed<'_>> {
    let mut at = 0;
    let place = |f| {
        let start = at;
        at += Field::width(f);
        (f, start)
    };
    fields.iter().map(place).collect()
}

fn total_bits(fields: &[Field]) -> u32 {
    fields.iter().map(Field::width).sum()
}

impl Report {
    fn read(root: &Path) -> Result<Self> {
        let report: Self = toml::from_str(&read(&root.join(SOURCE))?).context(SOURCE)?;
        for item in report.metadata.iter().chain(&report.domain) {
            ensure!(
                matches!(total_bits(&item.fields), 32 | 64 | 128),
                "{SOURCE}: {} has neither one word, nor two, nor four",
                item.name
            );
        }
        let fields = report
            .metadata
            .iter()
            .chain(&report.domain)
            .flat_map(|i| &i.fields);
        for f in fields {
            ensure!(
                f.p4.as_ref() != Some(&f.name),
                "{SOURCE}: {} needs no p4 name: it is the same",
                f.name
            );
        }
        for (what, items) in [("metadata", &report.metadata), ("domain", &report.domain)] {
            let falls = items.windows(2).all(|w| w[0].mask > w[1].mask);
            ensure!(falls, "{SOURCE}: {what} is not in the order of its bits");
        }
        Ok(report)
    }

    /// What a Tidemark report of this kind has, in order, with the place of each
    /// field in bits.
    fn sent(&self, kind: &str) -> Vec<(Option<&str>, &Field, u32)> {
        let items = self.metadata.iter().chain(&self.domain);
        let items = items.filter(|i| i.sent.iter().any(|s| s == kind));
        let headers = [&self.group, &self.main]
            .map(|h| (Some(h.p4.as_str()), &h.fields))
            .into_iter()
            .chain(items.map(|i| (i.p4.as_deref(), &i.fields)));
        let mut out = Vec::new();
        let mut start = 0;
        for (p4, fields) in headers {
            out.extend(
                placed(fields)
                    .into_iter()
                    .map(|(f, at)| (p4, f, start + at)),
            );
            start += total_bits(fields);
        }
        out
    }

    /// Bits and length of the metadata that reports of this kind have.
    fn metadata_of(&self, kind: &str) -> (u16, u32) {
        let has = |i: &&Item| i.sent.iter().any(|s| s == kind);
        let bits = self.metadata.iter().filter(has).map(|i| i.mask).sum();
        let items = self.metadata.iter().chain(&self.domain);
        let words: u32 = items.filter(has).map(|i| total_bits(&i.fields) / 32).sum();
        (bits, words)
    }

    fn codec(&self) -> Result<String> {
        let mut s = format!(
            "// SPDX-License-Identifier: Apache-2.0\n\
             // Generated by `cargo xtask codegen` from {SOURCE}. Do not edit.\n\
             //! Masks and places of Telemetry Report v2.0. A datagram:\n//!\n//! ```text\n"
        );
        s += &self.drawing()?;
        s += "//! ```\n\n/// Flags in the last byte of an individual report's first word.\npub(crate) mod flag {\n";
        for (f, at) in placed(&self.main.fields) {
            if f.bits == 1 {
                writeln!(s, "    /// {}.", f.meaning)?;
                writeln!(
                    s,
                    "    pub(crate) const {}: u8 = {:#04x};",
                    upper(&f.name),
                    1 << (7 - at % 8)
                )?;
            }
        }
        s += "}\n";
        for (name, about, items) in [
            (
                "metadata",
                "Bits of the specification's metadata, in their order.",
                &self.metadata,
            ),
            (
                "domain",
                "Bits of Tidemark's own metadata, in their order.",
                &self.domain,
            ),
        ] {
            write!(s, "\n/// {about}\npub(crate) mod {name} {{\n")?;
            for i in items {
                let fields: Vec<&str> = i.fields.iter().map(|f| f.name.as_str()).collect();
                let words = total_bits(&i.fields) / 32;
                let unit = if words == 1 { "word" } else { "words" };
                writeln!(s, "    /// `{}`: {words} {unit}.", fields.join("`, `"))?;
                writeln!(s, "    pub(crate) const {}: u16 = {:#06x};", i.name, i.mask)?;
            }
            s += "}\n";
        }
        let (bits, words) = self.metadata_of("forwarded");
        s += "\n/// Tidemark's report of a packet that left: byte at which each field begins.\n";
        s += "pub(crate) mod forwarded {\n    /// `metadata_bits`.\n";
        writeln!(s, "    pub(crate) const BITS: u16 = {bits:#06x};")?;
        s += "    /// Words of metadata.\n";
        writeln!(s, "    pub(crate) const WORDS: u8 = {words};")?;
        let mut end = 0;
        for (_, f, at) in self.sent("forwarded") {
            end = at + f.bits;
            if at >= total_bits(&self.group.fields) + total_bits(&self.main.fields)
                && f.label.is_some()
            {
                writeln!(s, "    /// {}.", capitalised(&f.meaning))?;
                writeln!(
                    s,
                    "    pub(crate) const {}: usize = {};",
                    upper(&f.name),
                    at / 8
                )?;
            }
        }
        s += "    /// The inner packet.\n";
        writeln!(s, "    pub(crate) const INNER: usize = {};\n}}", end / 8)?;
        Ok(s)
    }

    /// The report of a packet that left, a word a line.
    fn drawing(&self) -> Result<String> {
        let line = format!("//! +{}\n", "-+".repeat(32));
        let mut s = String::from(
            "//!  0                   1                   2                   3\n\
             //!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1\n",
        );
        let mut column = 0;
        s += &line;
        for (_, f, _) in self.sent("forwarded") {
            let mut left = f.bits;
            while left > 0 {
                let bits = left.min(32 - column);
                if column == 0 {
                    s += "//! |";
                }
                let room = (2 * bits - 1) as usize;
                let name = if room < f.name.len() {
                    &f.name[..room]
                } else {
                    &f.name
                };
                write!(s, "{name:^room$}|")?;
                (left, column) = (left - bits, (column + bits) % 32);
                if column == 0 {
                    s.push('\n');
                    s += &line;
                }
            }
        }
        s += "//! | inner packet ...\n";
        Ok(s)
    }

    fn scapy_bits(&self) -> Result<String> {
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
            let sent = |i: &&Item| i.sent.iter().any(|s| s == kind);
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

    fn scapy_individual(&self) -> Result<String> {
        let mut s = scapy_header(&self.main.fields, "        ")?;
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

    fn lua_fields(&self) -> Result<String> {
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

    fn lua_metadata(&self) -> Result<String> {
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

    fn document(&self) -> Result<String> {
        let mut s = String::from("| bits | field | in reports of | value |\n|---|---|---|---|\n");
        let headers = [&self.group, &self.main].map(|h| ("all", &h.fields));
        let items = self.metadata.iter().chain(&self.domain);
        let items = items.filter(|i| !i.sent.is_empty()).map(|i| {
            let all = i.sent.len() == 2;
            (if all { "all" } else { i.sent[0].as_str() }, &i.fields)
        });
        for (of, fields) in headers.into_iter().chain(items) {
            for f in fields {
                writeln!(s, "| {} | `{}` | {of} | {} |", f.bits, f.name, f.meaning)?;
            }
        }
        s += "| 160 or 320 | the packet's IP header | all | as it left (marked CE, if so); of a drop, as it came |\n";
        s += "| 160 | start of what follows | all | TCP: its header. UDP: its header and 12 zero bytes. Otherwise zeros |\n";
        Ok(s)
    }
}

impl Field {
    fn width(&self) -> u32 {
        self.bits
    }

    /// The field of a Scapy layer.
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

    /// Bytes of its header that Wireshark shows for it, and the mask in them when
    /// it does not fill them.
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

fn scapy_header(fields: &[Field], indent: &str) -> Result<String> {
    let mut s = String::new();
    for f in fields {
        writeln!(s, "{indent}{},", f.scapy())?;
    }
    Ok(s)
}

/// Fields with first byte and number of bytes.
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

fn upper(name: &str) -> String {
    name.to_ascii_uppercase()
}

fn capitalised(text: &str) -> String {
    let mut c = text.chars();
    c.next().map_or(String::new(), |first| {
        first.to_uppercase().chain(c).collect()
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_write_the_fields_of_this_table() {
        let root = crate::root();
        let report = Report::read(&root).unwrap();
        let text = read(&root.join("p4src/build/report_layout.json")).unwrap();
        let layout: serde_json::Value = serde_json::from_str(&text).unwrap();
        let payloads = layout["payloads"].as_object().unwrap();
        assert_eq!(payloads.len(), 12);
        for (kind, payload) in payloads {
            let kind = kind.split(' ').next().unwrap();
            let written: Vec<(String, u64, u64)> = payload["fields"]
                .as_array()
                .unwrap()
                .iter()
                .map(|f| {
                    let number = |key: &str| f[key].as_u64().unwrap();
                    let name = f["name"].as_str().unwrap().to_owned();
                    (name, number("offset_bits"), number("bits"))
                })
                .filter(|(name, ..)| {
                    name.starts_with("report_")
                        && !name.starts_with("report_pad.")
                        && !name.starts_with("report_no_transport.")
                })
                .collect();
            let wanted: Vec<(String, u64, u64)> = report
                .sent(kind)
                .into_iter()
                .map(|(header, f, at)| {
                    let name = format!("{}.{}", header.unwrap(), f.p4.as_ref().unwrap_or(&f.name));
                    (name, at.into(), f.bits.into())
                })
                .collect();
            assert_eq!(written, wanted, "{kind}");
            let (bits, words) = report.metadata_of(kind);
            let constant =
                |name: &str| &layout["constants"][format!("METADATA_{name}_{}", upper(kind))];
            assert_eq!(
                (constant("BITS"), constant("WORDS")),
                (&bits.into(), &words.into())
            );
        }
    }
}
