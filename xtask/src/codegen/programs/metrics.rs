// SPDX-License-Identifier: Apache-2.0
//! Generates the tables in `docs/reference/metrics.md` from the structs that count.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use daemon_kit::metrics::{Kind, MetricDoc};
use tidemark_collector::http;

use crate::codegen::Generated;

const PAGE: &str = "docs/reference/metrics.md";

pub(in crate::codegen) fn generate(_: &Path) -> Result<Vec<Generated>> {
    [
        ("collector metrics", http::collector_docs()),
        ("clickhouse metrics", http::clickhouse_docs()),
        ("controller metrics", tidemark_controller::metrics::docs()),
        ("switch metrics", tidemark_switch::metrics::docs()),
    ]
    .into_iter()
    .map(|(block, docs)| Ok(Generated::block(PAGE, block, tables(&docs)?)))
    .collect()
}

/// Returns one table per kind of metric.
fn tables(docs: &[MetricDoc]) -> Result<String> {
    let mut text = String::new();
    for (kind, verb) in [
        (Kind::Counter, "counts"),
        (Kind::Gauge, "shows"),
        (Kind::Histogram, "counts by size"),
        (Kind::Info, "names"),
    ] {
        if docs.iter().all(|d| d.kind != kind) {
            continue;
        }
        writeln!(text, "\n| {} | {verb} |\n|---|---|", kind.name())?;
        for doc in docs.iter().filter(|d| d.kind == kind) {
            writeln!(text, "| `{}`{} | {} |", doc.name, labels(doc), doc.help)?;
        }
    }
    Ok(text)
}

/// Formats labels like a selector.
fn labels(doc: &MetricDoc) -> String {
    match doc.labels {
        [] => String::new(),
        names => format!(" `{{{}}}`", names.join(",")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_a_table() {
        let docs = [
            MetricDoc::info("build_info", "Version").labels(&["version"]),
            MetricDoc::gauge("waiting", "What waits"),
            MetricDoc::counter("lost", "What is lost").labels(&["a", "b"]),
        ];
        assert_eq!(
            tables(&docs).unwrap(),
            "\n| counter | counts |\n|---|---|\n| `lost` `{a,b}` | What is lost |\n\
             \n| gauge | shows |\n|---|---|\n| `waiting` | What waits |\n\
             \n| info | names |\n|---|---|\n| `build_info` `{version}` | Version |\n"
        );
    }
}
