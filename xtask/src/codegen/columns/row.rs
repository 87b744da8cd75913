// SPDX-License-Identifier: Apache-2.0
//! Row structs.

use std::fmt::Write as _;

use anyhow::Result;

use super::table::Table;
use crate::codegen::rust::capitalised;

impl Table {
    pub(super) fn row_struct(&self) -> Result<String> {
        let copy = if self.columns.iter().any(|c| c.kinds.is_some()) {
            "Clone, Debug, Default, PartialEq"
        } else {
            "Clone, Copy, Debug, Default, PartialEq, Eq"
        };
        let mut s = format!(
            "#[doc = {:?}]\n#[derive({copy})]\npub struct {} {{\n",
            format!(" {}", self.about),
            self.row
        );
        for c in &self.columns {
            let kind = match (c.is_text(), &self.named, c.number()?) {
                (true, Some(_), _) => "u16",
                (true, None, _) => "String",
                (false, _, number) => number,
            };
            let kind = match c.kinds {
                Some(_) => format!("Option<{kind}>"),
                None => kind.to_owned(),
            };
            let meaning = match (c.is_text(), &self.named) {
                (true, Some(_)) => "index into the capture's list of hosts".to_owned(),
                _ => c.meaning.clone(),
            };
            let null = match (&c.null, &c.kinds) {
                (Some(null), _) => format!("; null {null}"),
                (None, Some(kinds)) => format!("; of {}", kinds.join(", ")),
                (None, None) => String::new(),
            };
            let doc = format!(" {}{null}.", capitalised(&meaning));
            writeln!(s, "#[doc = {doc:?}]\npub {}: {kind},", c.field())?;
        }
        Ok(s + "}\n")
    }

    /// Struct of a line of JSON, for the module that includes the file.
    pub(super) fn json_row_struct(&self) -> Result<String> {
        let mut s = format!(
            "#[doc = {:?}]\n#[derive(Debug, serde::Serialize)]\nstruct {}<'a> {{\n",
            format!(" {}", self.about),
            self.row
        );
        for c in &self.columns {
            let kind = match (c.is_text(), &c.null, c.number()?) {
                (true, _, _) => "&'a str".to_owned(),
                (false, Some(_), number) => format!("Option<{number}>"),
                (false, None, number) => number.to_owned(),
            };
            let null = c.null.as_ref().map(|n| format!("; null {n}"));
            let doc = format!(" {}{}.", capitalised(&c.meaning), null.unwrap_or_default());
            writeln!(s, "#[doc = {doc:?}]\n{}: {kind},", c.field())?;
        }
        Ok(s + "}\n")
    }
}
