// SPDX-License-Identifier: Apache-2.0
//! Generates the table of `docs/reference/reports.md`.

use super::Report;
use anyhow::Result;
use std::fmt::Write as _;

impl Report {
    pub(super) fn document(&self) -> Result<String> {
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
