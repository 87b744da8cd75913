// SPDX-License-Identifier: Apache-2.0
//! Fields of a report, from `contract/report.toml`: the codec's masks and offsets, the Scapy layer,
//! the Wireshark dissector and the documents' table.

mod codec;
mod dissector;
mod document;
mod scapy;
#[cfg(test)]
mod tests;

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

/// Fields that are always present.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    p4: String,
    fields: Vec<Field>,
}

/// Fields that are present if a bit is set.
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

/// A single-bit flag of a field.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Flag {
    name: String,
    mask: u64,
    label: String,
}

/// A field and its offset within its header or item.
type Placed<'a> = (&'a Field, u32);

pub(super) fn generate(root: &Path) -> Result<Vec<Generated>> {
    let report = Report::read(root)?;
    Ok(vec![
        Generated::file(CODEC, report.codec()?),
        Generated::block(SCAPY, "bits", report.scapy_bits()?),
        Generated::block(SCAPY, "group header", report.scapy_group()?),
        Generated::block(SCAPY, "individual report", report.scapy_individual()?),
        Generated::block(WIRESHARK, "fields", report.lua_fields()?),
        Generated::block(WIRESHARK, "metadata", report.lua_metadata()?),
        Generated::block(DOCUMENT, "fields", report.document()?),
    ])
}

fn placed(fields: &[Field]) -> Vec<Placed<'_>> {
    let mut at = 0;
    let mut placed = Vec::with_capacity(fields.len());
    for f in fields {
        placed.push((f, at));
        at += f.bits;
    }
    placed
}

fn total_bits(fields: &[Field]) -> u32 {
    fields.iter().map(|f| f.bits).sum()
}

impl Item {
    /// Returns whether Tidemark's reports of this kind, `forwarded` or `dropped`, have it.
    fn is_sent(&self, kind: &str) -> bool {
        self.sent.iter().any(|s| s == kind)
    }
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

    /// Returns headers and fields of a Tidemark report of this kind, in order, with each field's
    /// offset in bits.
    fn sent(&self, kind: &str) -> Vec<(Option<&str>, &Field, u32)> {
        let items = self.metadata.iter().chain(&self.domain);
        let items = items.filter(|i| i.is_sent(kind));
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

    /// Returns bits and length of the metadata in reports of this kind.
    fn metadata_of(&self, kind: &str) -> (u16, u32) {
        let has = |i: &&Item| i.is_sent(kind);
        let bits = self.metadata.iter().filter(has).map(|i| i.mask).sum();
        let items = self.metadata.iter().chain(&self.domain);
        let words: u32 = items.filter(has).map(|i| total_bits(&i.fields) / 32).sum();
        (bits, words)
    }

    /// Returns bits of Tidemark's own metadata in reports of this kind, and its width in bits.
    fn domain_of(&self, kind: &str) -> (u16, u32) {
        let sent = self.domain.iter().filter(|i| i.is_sent(kind));
        sent.fold((0, 0), |(bits, width), i| {
            (bits | i.mask, width + total_bits(&i.fields))
        })
    }
}

fn upper(name: &str) -> String {
    name.to_ascii_uppercase()
}
