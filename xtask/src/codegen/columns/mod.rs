// SPDX-License-Identifier: Apache-2.0
//! The stored tables, from `contract/columns.toml`: row structs, column lists of
//! both stores, SQL and documents.

mod capture;
mod clickhouse;
mod document;
mod row;
mod table;

use std::path::Path;

use anyhow::{Context, Result};

use super::{Generated, cluster, head, read};
use table::{SOURCE, Table};

const ROWS: &str = "contract/rows/src/generated/rows.rs";
const CAPTURE: &str = "collector/capture/src/generated/columns.rs";
const CLICKHOUSE: &str = "collector/clickhouse/src/generated/columns.rs";
const SCHEMA: &str = "deploy/clickhouse/schema.sql";
const CLUSTER: &str = "deploy/clickhouse/cluster.sql";
const DOCUMENT: &str = "docs/reference/capture-format.md";
/// Document for tables that are only in ClickHouse.
const CLICKHOUSE_DOCUMENT: &str = "docs/how-to/clickhouse.md";

pub(super) fn generate(root: &Path) -> Result<Vec<Generated>> {
    let tables: toml::Table = toml::from_str(&read(&root.join(SOURCE))?).context(SOURCE)?;
    let mut named = Vec::new();
    for (name, table) in tables {
        let table: Table = table
            .try_into()
            .with_context(|| format!("{SOURCE}: {name}"))?;
        table.check().with_context(|| format!("{SOURCE}: {name}"))?;
        named.push((name, table));
    }
    let [mut rows, mut capture, mut clickhouse] = [head(SOURCE), head(SOURCE), head(SOURCE)];
    let mut schema = read(&root.join(SCHEMA))?;
    let mut out = Vec::new();
    for (name, table) in &named {
        schema = super::replace_block(&schema, &format!("columns of {name}"), &table.sql()?)
            .context(SCHEMA)?;
        if let Some(file) = &table.json_row {
            let text = head(SOURCE) + &table.json_row_struct()?;
            out.push(Generated::file(file, text));
            let document = table.document()?;
            out.push(Generated::block(CLICKHOUSE_DOCUMENT, name, document));
            continue;
        }
        rows += &table.row_struct()?;
        capture += &table.capture(name)?;
        clickhouse += &table.clickhouse(name)?;
        out.push(Generated::block(DOCUMENT, name, table.document()?));
    }
    for (name, sql) in cluster::queries_of_rollups(&schema)? {
        schema = super::replace_block(&schema, &format!("query of {name}"), &sql)?;
    }
    out.push(Generated::file(ROWS, rows));
    out.push(Generated::file(CAPTURE, capture));
    out.push(Generated::file(CLICKHOUSE, clickhouse));
    out.push(Generated::file(CLUSTER, cluster::of(&schema)?));
    out.push(Generated::file(SCHEMA, schema));
    Ok(out)
}
