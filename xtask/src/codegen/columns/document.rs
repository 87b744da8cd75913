// SPDX-License-Identifier: Apache-2.0
//! Tables of columns for the documents.

use std::fmt::Write as _;

use anyhow::Result;

use super::table::Table;

impl Table {
    /// Returns a table for the document about captures, or about ClickHouse.
    pub(super) fn document(&self) -> Result<String> {
        let kinds = self.columns.iter().any(|c| c.kinds.is_some());
        let mut s = match kinds {
            true => "| column | type | kinds | meaning |\n|---|---|---|---|\n".to_owned(),
            false => "| column | type | meaning |\n|---|---|---|\n".to_owned(),
        };
        for c in &self.columns {
            let kind = match (c.is_text(), c.number()?) {
                (true, _) => "text",
                (false, "Join") => "u8",
                (false, number) => number,
            };
            let null = c
                .null_when()
                .map_or(String::new(), |n| format!(", null {n}"));
            write!(s, "| `{}` | {kind}{null} | ", c.name)?;
            if kinds {
                let of = c.kinds.as_ref().map_or("all".to_owned(), |k| {
                    let quoted: Vec<String> = k.iter().map(|k| format!("`{k}`")).collect();
                    quoted.join(", ")
                });
                write!(s, "{of} | ")?;
            }
            writeln!(s, "{} |", c.meaning)?;
        }
        Ok(s)
    }
}
