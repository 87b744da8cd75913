// SPDX-License-Identifier: Apache-2.0
//! The shipped schema, and the queries that repeat the rollups of a batch.

/// Text of `deploy/clickhouse/schema.sql`.
pub(crate) const SCHEMA: &str = include_str!("../../../deploy/clickhouse/schema.sql");

/// Statements of the schema, without comments.
pub(crate) fn statements() -> Vec<String> {
    let code: Vec<&str> = SCHEMA
        .lines()
        .filter(|l| !l.trim_start().starts_with("--"))
        .collect();
    code.join("\n")
        .split(';')
        .map(|s| s.trim().to_owned())
        .filter(|s| !s.is_empty())
        .collect()
}

/// INSERTs that put the rollups of one batch of `postcards` into their tables, as
/// the materialised views do. The rollups' keys hold the batch, so doing so twice
/// changes nothing.
pub(crate) fn rollups() -> Vec<String> {
    statements()
        .iter()
        .filter_map(|s| {
            let (head, select) = s.split_once(" AS\n")?;
            let target = head
                .strip_prefix("CREATE MATERIALIZED VIEW")?
                .split_once(" TO ")?
                .1;
            let of_batch = select.replacen(
                "FROM postcards",
                "FROM postcards WHERE capture = {capture:String} AND batch = {batch:UInt64}",
                1,
            );
            let names: Vec<&str> = column_names(select);
            Some(format!(
                "INSERT INTO {target} ({}) {of_batch}",
                names.join(", ")
            ))
        })
        .collect()
}

/// Names of a view's columns: the last word of each line of its SELECT.
fn column_names(select: &str) -> Vec<&str> {
    select
        .lines()
        .skip(1)
        .take_while(|l| !l.starts_with("FROM"))
        .filter_map(|l| l.trim().trim_end_matches(',').rsplit(' ').next())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_view_has_its_repair() {
        let views = statements()
            .iter()
            .filter(|s| s.starts_with("CREATE MATERIALIZED"))
            .count();
        let rollups = rollups();
        assert_eq!((views, rollups.len()), (3, 3));
        for (r, target) in rollups.iter().zip(["queue_1ms", "queue_1s", "flow_1s"]) {
            assert!(
                r.starts_with(&format!("INSERT INTO {target} (node_id, ")),
                "{r}"
            );
            assert!(r.contains("WHERE capture = {capture:String}"), "{r}");
            assert!(r.contains(", stored_on, packets, "), "{r}");
        }
    }
}
