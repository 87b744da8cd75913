// SPDX-License-Identifier: Apache-2.0
//! Generates masks and offsets of the codec, `collector/int-report/src/layout.rs`.

use super::{Report, SOURCE, placed, total_bits, upper};
use crate::codegen::{capitalised, head};
use anyhow::Result;
use std::fmt::Write as _;

impl Report {
    pub(super) fn codec(&self) -> Result<String> {
        let mut s = head(SOURCE);
        s += "//! Masks and places of Telemetry Report v2.0. A datagram:\n//!\n//! ```text\n";
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
        let (domain_bits, domain) = self.domain_of("forwarded");
        s += "\n/// Tidemark's report of a packet that left: byte at which each field begins.\n";
        s += "pub(crate) mod forwarded {\n    /// `metadata_bits`.\n";
        writeln!(s, "    pub(crate) const BITS: u16 = {bits:#06x};")?;
        s += "    /// `domain_bits`.\n";
        writeln!(
            s,
            "    pub(crate) const DOMAIN_BITS: u16 = {domain_bits:#06x};"
        )?;
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
        s += "    /// Tidemark's own metadata.\n";
        writeln!(
            s,
            "    pub(crate) const DOMAIN: usize = {};",
            (end - domain) / 8
        )?;
        s += "    /// The inner packet.\n";
        writeln!(s, "    pub(crate) const INNER: usize = {};\n}}", end / 8)?;
        Ok(s)
    }

    /// Draws the report of a forwarded packet, one word per line.
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
}
