// SPDX-License-Identifier: Apache-2.0
//! The three tables, with the same columns as `deploy/clickhouse/schema.sql`. Both
//! are generated from `contract/columns.toml`.

use crate::column::{Column, columns};
use tidemark_rows::{Absent, FlatEvent, NamedProbe, PostcardRow};

/// A type of row, which has a table of its own.
pub trait Table: Sized + Send + 'static {
    /// Name of the table.
    const NAME: &'static str;
    /// Columns other than capture, batch, stored_on and unix_minus_node_ns.
    const COLUMNS: &'static [Column<Self>];
    /// Position of the row among all rows of the capture.
    fn order(&self) -> u64;
    /// The node whose clock gave the row's time, if any.
    fn node_id(&self) -> Option<u32>;
}

include!("generated/columns.rs");

#[cfg(test)]
mod tests {
    use super::*;

    /// Names and types of a table's columns in the shipped schema, in order.
    fn in_schema(table: &str) -> Vec<(String, String)> {
        let create = format!("CREATE TABLE IF NOT EXISTS {table}\n(");
        let statement = crate::schema::statements()
            .into_iter()
            .find(|s| s.starts_with(&create))
            .unwrap();
        statement[create.len()..]
            .lines()
            .filter(|l| l.contains(" CODEC("))
            .map(|l| {
                let l = l.trim();
                let (name, rest) = l.split_once(' ').unwrap();
                let kind = rest.split(" CODEC(").next().unwrap();
                (name.to_owned(), kind.to_owned())
            })
            .collect()
    }

    fn check<T: Table>() {
        let mut sent: Vec<(String, String)> = [
            ("capture", "LowCardinality(String)"),
            ("batch", "UInt64"),
            ("stored_on", "Date"),
            ("unix_minus_node_ns", "Int64"),
        ]
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .to_vec();
        sent.extend(
            T::COLUMNS
                .iter()
                .map(|c| (c.name.to_owned(), c.kind.to_owned())),
        );
        let stored: Vec<_> = in_schema(T::NAME)
            .into_iter()
            .map(|(n, k)| {
                let text = n != "capture" && k == "LowCardinality(String)";
                (n, if text { "String".to_owned() } else { k })
            })
            .collect();
        assert_eq!(sent, stored, "{}", T::NAME);
    }

    #[test]
    fn the_schema_has_these_columns() {
        check::<PostcardRow>();
        check::<NamedProbe>();
        check::<FlatEvent>();
    }
}
