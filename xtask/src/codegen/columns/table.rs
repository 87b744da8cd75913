// SPDX-License-Identifier: Apache-2.0
//! Model of `contract/columns.toml`: keys of a table and of a column.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

pub(super) const SOURCE: &str = "contract/columns.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    pub row: String,
    pub about: String,
    /// Stored row that combines this row with the host's name.
    pub named: Option<String>,
    /// File of the row struct, for a table that is only in ClickHouse and is sent as JSON lines.
    pub json_row: Option<String>,
    /// Whether the row itself says which of its values are absent.
    #[serde(default)]
    pub absent: bool,
    pub columns: Vec<Column>,
    #[serde(default)]
    pub conditions: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Column {
    pub name: String,
    pub field: Option<String>,
    pub r#type: String,
    pub null: Option<String>,
    /// Flag that marks an absent value.
    pub absent: Option<String>,
    pub kinds: Option<Vec<String>>,
    pub parquet: Option<String>,
    pub clickhouse: Option<String>,
    #[serde(default)]
    pub added: bool,
    pub meaning: String,
}

impl Table {
    pub(super) fn check(&self) -> Result<()> {
        if self.json_row.is_some() {
            return self.columns.iter().try_for_each(|c| {
                ensure!(c.parquet.is_none(), "{}: not in captures", c.name);
                c.number().map(|_| ()).with_context(|| c.name.clone())
            });
        }
        ensure!(
            self.columns[0].name == "order",
            "the first column is not `order`"
        );
        for c in &self.columns {
            c.number().with_context(|| c.name.clone())?;
            c.layout().with_context(|| c.name.clone())?;
            ensure!(
                c.absent.is_none() || self.absent,
                "{}: `absent` is of a table with it",
                c.name
            );
            if let Some(null) = &c.null {
                ensure!(
                    self.conditions.contains_key(null),
                    "{}: no condition {null:?}",
                    c.name
                );
            }
        }
        Ok(())
    }

    /// Returns the struct that the stores take.
    pub(super) fn stored(&self) -> &str {
        self.named.as_ref().unwrap_or(&self.row)
    }

    /// Returns the expression for a column's value in the stored row.
    pub(super) fn place(&self, c: &Column) -> String {
        match (&self.named, c.is_text()) {
            (Some(_), false) => format!("row.{}", c.field()),
            _ => c.field().to_owned(),
        }
    }

    /// Returns the value at a place of a row that says which of its values are absent.
    pub(super) fn unless_absent(&self, c: &Column, place: &str) -> String {
        let flag = c.absent.as_deref().unwrap_or_default();
        let there = format!("r.absent.unless(Absent::{flag}, {})", c.value(place));
        match &c.null {
            Some(null) => format!("{there}.filter(|_| {})", self.conditions[null]),
            None => there,
        }
    }
}

impl Column {
    pub(super) fn field(&self) -> &str {
        self.field.as_ref().unwrap_or(&self.name)
    }

    /// Returns whether rows may lack a value.
    pub(super) fn is_nullable(&self) -> bool {
        self.null.is_some() || self.kinds.is_some() || self.absent.is_some()
    }

    /// Returns, in words, when a row has no value.
    pub(super) fn null_when(&self) -> Option<String> {
        match (&self.null, &self.absent) {
            (Some(null), Some(_)) => Some(format!("{null} or not known")),
            (Some(null), None) => Some(null.clone()),
            (None, absent) => absent.as_ref().map(|_| "where not known".to_owned()),
        }
    }

    pub(super) fn is_text(&self) -> bool {
        matches!(self.r#type.as_str(), "text" | "string")
    }

    /// Returns the type of a numeric field; an error for text.
    pub(super) fn number(&self) -> Result<&'static str> {
        Ok(match self.r#type.as_str() {
            "u8" => "u8",
            "u16" => "u16",
            "u32" => "u32",
            "u64" => "u64",
            "i32" => "i32",
            "i64" => "i64",
            "f64" => "f64",
            "bool" => "bool",
            "join" => "Join",
            "text" | "string" => "",
            other => bail!("{other:?} is no type of a column"),
        })
    }

    /// Returns the number that is stored for a row `r`.
    pub(super) fn value(&self, place: &str) -> String {
        match self.r#type.as_str() {
            "join" => format!("r.{place}.code()"),
            _ => format!("r.{place}"),
        }
    }

    pub(super) fn layout(&self) -> Result<&'static str> {
        let parquet = self.parquet.as_deref().context("no layout in Parquet")?;
        Ok(match parquet {
            "delta" => "Delta",
            "dictionary" => "Dictionary",
            "plain" => "Plain",
            other => bail!("{other:?} is no layout in Parquet"),
        })
    }
}
