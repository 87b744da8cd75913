// SPDX-License-Identifier: Apache-2.0
//! Columns of the ClickHouse store, and their definitions in SQL.

use std::fmt::Write as _;

use anyhow::{Context, Result, bail};

use super::table::{Column, Table};

impl Table {
    /// Returns the column list of the ClickHouse store.
    pub(super) fn clickhouse(&self, name: &str) -> Result<String> {
        let of = |column: &str| self.columns.iter().find(|c| c.name == column);
        let node = of("node_id").context("no column node_id")?;
        let node_id = match node.kinds {
            Some(_) => format!("self.{}", self.place(node)),
            None => format!("Some(self.{})", self.place(node)),
        };
        let order = self.place(&self.columns[0]);
        let mut s = format!(
            "\nimpl Table for {row} {{\n    \
                 const NAME: &'static str = {name:?};\n    \
                 const COLUMNS: &'static [Column<Self>] = columns! {{ {row};\n",
            row = self.stored(),
        );
        for c in &self.columns {
            let place = self.place(c);
            let optional = c.kinds.is_some();
            let (how, get) = match (&c.null, c.is_text(), optional) {
                _ if c.absent.is_some() => ("opt", self.unless_absent(c, &place)),
                (_, true, true) => ("text", format!("r.{place}.as_deref().unwrap_or_default()")),
                (_, true, false) => ("text", format!("&r.{place}")),
                (_, false, true) => ("opt", format!("r.{place}")),
                (None, false, false) => ("num", c.value(&place)),
                (Some(null), false, false) => (
                    "opt",
                    format!("({}).then_some({})", self.conditions[null], c.value(&place)),
                ),
            };
            let kind = match (c.is_text(), c.number()?) {
                (true, _) => "str",
                (false, "Join") => "u8",
                (false, number) => number,
            };
            writeln!(s, "        {} {how} {kind} |r| {get};", c.name)?;
        }
        write!(
            s,
            "    }};\n\n    fn order(&self) -> u64 {{\n        self.{order}\n    }}\n\n    \
             fn node_id(&self) -> Option<u32> {{\n        {node_id}\n    }}\n}}\n"
        )?;
        Ok(s)
    }

    /// Returns the column definitions of `CREATE TABLE`.
    pub(super) fn sql(&self) -> Result<String> {
        let mut s = String::new();
        for c in &self.columns {
            let kind = match (c.r#type.as_str(), c.is_nullable()) {
                ("text", _) => "LowCardinality(String)".to_owned(),
                ("string", _) => "String".to_owned(),
                (_, true) => format!("Nullable({})", c.sql_number()?),
                (_, false) => c.sql_number()?.to_owned(),
            };
            let codec = match &c.clickhouse {
                Some(codec) => format!("{codec}, ZSTD(3)"),
                None => "ZSTD(3)".to_owned(),
            };
            writeln!(s, "    {} {kind} CODEC({codec}),", c.name)?;
        }
        Ok(s)
    }
}

impl Column {
    fn sql_number(&self) -> Result<&'static str> {
        Ok(match self.number()? {
            "u8" | "Join" => "UInt8",
            "u16" => "UInt16",
            "u32" => "UInt32",
            "u64" => "UInt64",
            "i32" => "Int32",
            "i64" => "Int64",
            "f64" => "Float64",
            "bool" => "Bool",
            _ => bail!("{} is no number", self.name),
        })
    }
}
