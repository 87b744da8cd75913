// SPDX-License-Identifier: Apache-2.0
//! Generates the documentation's table of sizing rules from the list of rules.

use crate::codegen::Generated;
use anyhow::Result;
use std::fmt::Write as _;
use std::path::Path;
use tidemark_advice::models::MODELS;
use tidemark_rules::{RULES, Rule};

/// Page that contains the table.
const PAGE: &str = "docs/reference/rules.md";

pub(in crate::codegen) fn generate(_root: &Path) -> Result<Vec<Generated>> {
    Ok(vec![
        Generated::block(PAGE, "rules", table()),
        Generated::block(PAGE, "models", models()),
        Generated::block(PAGE, "papers", papers()),
    ])
}

fn table() -> String {
    let mut text =
        String::from("| id | buffer | for | holds when | source |\n|---|---|---|---|---|\n");
    for rule in RULES.iter() {
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "| `{}` | `{}` | {} | {} | {} |",
            rule.id,
            rule.formula,
            goals(rule),
            conditions(rule),
            rule.source()
        );
    }
    text
}

/// Lists the models of the outlook, the most trusted first.
fn models() -> String {
    let mut text = String::from("| id | model | source | held against |\n|---|---|---|---|\n");
    for m in MODELS {
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} |",
            m.id, m.name, m.source, m.evidence
        );
    }
    text
}

fn goals(rule: &Rule) -> String {
    if rule.goals.is_empty() {
        return "comparison".into();
    }
    let goals: Vec<&str> = rule.goals.iter().map(|g| g.label()).collect();
    goals.join(", ")
}

fn conditions(rule: &Rule) -> String {
    let all = rule.assumptions.iter().map(|a| escaped(a.statement));
    all.collect::<Vec<_>>().join("; ")
}

/// Lists each paper once, in the order of the rules.
fn papers() -> String {
    let mut papers: Vec<(&str, &str)> = Vec::new();
    for rule in RULES.iter() {
        let paper = (rule.paper.name, rule.paper.citation);
        if !papers.contains(&paper) {
            papers.push(paper);
        }
    }
    let lines = papers
        .iter()
        .map(|(name, text)| format!("* **{name}**: {text}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Escapes characters that Markdown would interpret.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if matches!(c, '*' | '_' | '|' | '[' | ']' | '<' | '`' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_one_row_with_five_cells() {
        let table = table();
        let rows: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(rows.len(), RULES.len());
        for (row, rule) in rows.iter().zip(RULES.iter()) {
            let bare = row.replace("\\|", "");
            assert_eq!(bare.matches('|').count(), 6, "{row}");
            assert!(row.starts_with(&format!("| `{}` |", rule.id)));
        }
    }

    #[test]
    fn markup_is_escaped() {
        assert_eq!(escaped("B = C*T_e"), "B = C\\*T\\_e");
    }
}
