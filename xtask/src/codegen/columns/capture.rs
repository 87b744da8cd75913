// SPDX-License-Identifier: Apache-2.0
//! Columns of the Parquet store.

use std::fmt::Write as _;

use anyhow::Result;

use super::table::Table;
use crate::codegen::capitalised;

impl Table {
    /// Returns the column list of the Parquet store.
    pub(super) fn capture(&self, name: &str) -> Result<String> {
        let order = self.place(&self.columns[0]);
        let mut s = format!(
            "\nimpl Stored for {row} {{\n    \
                 const TABLE: &'static str = {name:?};\n\n    \
                 fn order(&self) -> u64 {{\n        self.{order}\n    }}\n\n    \
                 fn columns() -> Vec<Column<Self>> {{\n        \
                     columns! {{ {row};\n",
            row = self.stored(),
        );
        if self.absent {
            let complete =
                "fn complete(&mut self) {\n        self.stand_in();\n    }\n\n    fn columns()";
            s = s.replacen("fn columns()", complete, 1);
        }
        let added = self.columns.iter().filter(|c| c.added);
        let added: Vec<&str> = added.map(|c| c.name.as_str()).collect();
        if !added.is_empty() {
            let list = format!("    const ADDED: &'static [&'static str] = &{added:?};\n");
            s = s.replacen("\n\n    fn order", &format!("\n{list}\n    fn order"), 1);
        }
        for c in &self.columns {
            let place = self.place(c);
            let optional = c.kinds.is_some();
            let get = match (&c.null, c.is_text(), optional) {
                _ if c.absent.is_some() => self.unless_absent(c, &place),
                (_, true, true) => format!("r.{place}.as_deref()"),
                (_, true, false) => format!("Some(&*r.{place})"),
                (_, false, true) => format!("r.{place}"),
                (None, false, false) => format!("Some({})", c.value(&place)),
                (Some(null), false, false) => {
                    format!("({}).then_some({})", self.conditions[null], c.value(&place))
                }
            };
            let set = match (c.is_text(), optional) {
                (true, true) => "text(v)".to_owned(),
                (true, false) if self.named.is_none() => "text(v).unwrap_or_default()".to_owned(),
                (false, true) => "v".to_owned(),
                _ if c.absent.is_some() => {
                    let flag = c.absent.as_deref().unwrap_or_default();
                    format!("w.absent.or_default(Absent::{flag}, v)")
                }
                _ if c.r#type == "join" => "Join::from_code(v.unwrap_or_default())".to_owned(),
                _ => "v.unwrap_or_default()".to_owned(),
            };
            let kind = match (c.is_text(), c.number()?) {
                (true, _) => "Text".to_owned(),
                (false, "Join") => "U8".to_owned(),
                (false, number) => capitalised(number),
            };
            let null = if optional || c.null.is_some() || c.absent.is_some() {
                " ?null"
            } else {
                ""
            };
            writeln!(
                s,
                "            {:?} {kind} {}{null} |r| {get}, |w, v| w.{place} = {set};",
                c.name,
                c.layout()?,
            )?;
        }
        Ok(s + "        }\n    }\n}\n")
    }
}
