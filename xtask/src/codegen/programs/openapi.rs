// SPDX-License-Identifier: Apache-2.0
//! Generates the OpenAPI document, and the documentation's tables of routes, from the types of
//! `tidemark-api`. The console's types are made from the document: `npm run types`.

use crate::codegen::Generated;
use anyhow::{Context as _, Result};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;

const DOCUMENT: &str = "contract/openapi/tidemark-1.json";
const REFERENCE: &str = "docs/reference/api.md";
/// Suffix of the routes of a queue.
const QUEUE: &str = "/{queue}";

/// Generates the document and the tables.
pub(in crate::codegen) fn generate(_: &Path) -> Result<Vec<Generated>> {
    let document = tidemark_api::openapi::document();
    let json = serde_json::to_string_pretty(&document)? + "\n";
    Ok(vec![
        Generated::file(DOCUMENT, json),
        Generated::block(REFERENCE, "reading", table(&document, "get")?),
        Generated::block(REFERENCE, "writing", table(&document, "post")?),
    ])
}

/// Returns a method's routes: parameters or body, answer, description. A port's route and its
/// queue's share a row.
fn table(document: &Value, method: &str) -> Result<String> {
    let takes = if method == "get" { "query" } else { "body" };
    let mut out = format!("| route | {takes} | answer | |\n|---|---|---|---|\n");
    let paths = document["paths"].as_object().context("no paths")?;
    for (path, item) in paths {
        let Some(o) = item.get(method) else { continue };
        if path.contains(QUEUE) && paths.contains_key(&path.replacen(QUEUE, "", 1)) {
            continue;
        }
        let route = match path.replacen("/{port}", "/{port}/{queue}", 1) {
            other if other != *path && paths.contains_key(&other) => {
                path.replacen("/{port}", "/{port}[/{queue}]", 1)
            }
            _ => path.clone(),
        };
        let schemas = |at: &str| {
            Some(format!(
                "`{}`",
                o.pointer(at)?.as_str()?.rsplit('/').next()?
            ))
        };
        let body = schemas("/requestBody/content/application~1json/schema/$ref");
        let query: Vec<String> = o["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|p| p["in"] == "query")
            .filter_map(|p| Some(format!("`{}`", p["name"].as_str()?)))
            .collect();
        let answer = schemas("/responses/200/content/application~1json/schema/$ref")
            .or_else(|| schemas("/responses/200/content/text~1event-stream/schema/$ref"))
            .filter(|_| path != "/openapi.json")
            .unwrap_or_else(|| "OpenAPI 3.1".into());
        writeln!(
            out,
            "| `{route}` | {} | {answer} | {} |",
            body.unwrap_or_else(|| query.join(", ")),
            o["summary"].as_str().unwrap_or_default(),
        )?;
    }
    Ok(out)
}
