// SPDX-License-Identifier: Apache-2.0
//! Row structs.

use std::fmt::Write as _;

use anyhow::Result;

use super::table::{Column, Table};
use crate::codegen::capitalised;

impl Table {
    pub(super) fn row_struct(&self) -> Result<String> {
        let copy = if self.columns.iter().any(|c| c.kinds.is_some()) {
            "Clone, Debug, Default, PartialEq"
        } else {
            "Clone, Copy, Debug, Default, PartialEq, Eq"
        };
        self.structure(copy, &format!("pub struct {}", self.row), |c, number| {
            let kind = match (c.is_text(), &self.named) {
                (true, Some(_)) => "u16",
                (true, None) => "String",
                (false, _) => number,
            };
            let kind = match c.kinds {
                Some(_) => format!("Option<{kind}>"),
                None => kind.to_owned(),
            };
            (format!("pub {}", c.field()), kind)
        })
    }

    /// Returns the struct of a line of JSON, for the module that includes the file.
    pub(super) fn json_row_struct(&self) -> Result<String> {
        let name = format!("struct {}<'a>", self.row);
        self.structure("Debug, serde::Serialize", &name, |c, number| {
            let kind = match (c.is_text(), &c.null) {
                (true, _) => "&'a str".to_owned(),
                (false, Some(_)) => format!("Option<{number}>"),
                (false, None) => number.to_owned(),
            };
            (c.field().to_owned(), kind)
        })
    }

    /// Returns a struct with a documented field per column. `field` returns the declared name and
    /// the type.
    fn structure(
        &self,
        derives: &str,
        name: &str,
        field: impl Fn(&Column, &str) -> (String, String),
    ) -> Result<String> {
        let mut s = format!("\n/// {}\n#[derive({derives})]\n{name} {{\n", self.about);
        for c in &self.columns {
            let meaning = match (c.is_text(), &self.named) {
                (true, Some(_)) => "index into the capture's list of hosts",
                _ => &c.meaning,
            };
            let null = match (c.null_when(), &c.kinds) {
                (Some(null), _) => format!("; null {null}"),
                (None, Some(kinds)) => format!("; of {}", kinds.join(", ")),
                (None, None) => String::new(),
            };
            let (name, kind) = field(c, c.number()?);
            writeln!(
                s,
                "    /// {}{null}.\n    {name}: {kind},",
                capitalised(meaning)
            )?;
        }
        if self.absent {
            s += "    /// Which of these values are absent; they are 0.\n    pub absent: Absent,\n";
        }
        Ok(s + "}\n")
    }
}
