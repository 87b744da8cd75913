// SPDX-License-Identifier: Apache-2.0
//! The three tables, column by column as in `deploy/clickhouse/schema.sql`, both
//! from `contract/columns.toml`.

use crate::column::{Column, columns};
use tidemark_rows::{Absent, FlatEvent, NamedProbe, PostcardRow};

/// Rows of one table.
pub trait Table: Sized + Send + 'static {
    /// Name of the table.
    const NAME: &'static str;
    /// Columns besides capture, batch, stored_on and unix_minus_node_ns.
    const COLUMNS: &'static [Column<Self>];
    /// Position among all rows of the capture.
    fn order(&self) -> u64;
    /// The clock that the row's time is of, if it has one.
    fn node_id(&self) -> Option<u32>;
}

include!("generated/columns.rs");

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns of a table in the shipped schema, in order, with types.
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
