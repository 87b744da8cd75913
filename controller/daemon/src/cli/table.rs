// SPDX-License-Identifier: Apache-2.0
//! Formats tables and numbers as plain text.

use tidemark_advice::verdict::size;
use tidemark_advice::{Advice, Prediction, Verdict};
use tidemark_estimators::LinkEstimate;
use tidemark_rules::{Range, RuleId, RuleResult};

/// Formats a table with a heading and aligned columns; columns of numbers are right-aligned.
pub(super) fn table<const N: usize>(
    heading: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let rows: Vec<[String; N]> = rows.into_iter().collect();
    let numbers: [bool; N] = std::array::from_fn(|i| are_numbers(rows.iter().map(|r| &r[i])));
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(heading).add_rows(rows);
    for (column, numbers) in table.column_iter_mut().zip(numbers) {
        column.set_padding((0, 2));
        if numbers {
            column.set_cell_alignment(comfy_table::CellAlignment::Right);
        }
    }
    if let Some(columns) = terminal_columns() {
        table.set_content_arrangement(comfy_table::ContentArrangement::Dynamic);
        table.set_width(columns);
    }
    table.trim_fmt()
}

/// Whether all cells of a column are numbers, percentages or dashes, and not all dashes.
fn are_numbers<'a>(mut cells: impl Iterator<Item = &'a String> + Clone) -> bool {
    let is_number = |cell: &&String| cell.trim_end_matches(" %").parse::<f64>().is_ok();
    cells.clone().any(|c| is_number(&c)) && cells.all(|c| c == "-" || is_number(&c))
}

/// Returns the width of the terminal; `None` if the output does not go to a terminal.
fn terminal_columns() -> Option<u16> {
    use std::io::IsTerminal as _;
    let size = ratatui::crossterm::terminal::size();
    let columns = size.ok().map(|(columns, _)| columns)?;
    (std::io::stdout().is_terminal() && columns > 0).then_some(columns)
}

/// Formats a number with as many digits as are worth reading.
pub(super) fn number(v: f64) -> String {
    match v.abs() {
        0.0 => "0".into(),
        a if a >= 100.0 => format!("{v:.0}"),
        a if a >= 10.0 => format!("{v:.1}"),
        a if a >= 0.1 => format!("{v:.2}"),
        _ => format!("{v:.3}"),
    }
}

/// Formats a number with [`number`], or a dash if there is none.
pub(super) fn or_dash(v: Option<f64>) -> String {
    dash_or(v.filter(|v| v.is_finite()), number)
}

/// Whether anything is known of the flows of an estimate: an idle link is known to have none, but
/// of a silent switch nothing is known.
pub(super) fn tells_of_flows(e: &LinkEstimate) -> bool {
    e.arrivals > 0 || e.utilisation.mean.is_some()
}

/// Formats a value, or a dash if there is none.
pub(super) fn dash_or<T>(v: Option<T>, text: impl FnOnce(T) -> String) -> String {
    v.map_or_else(|| "-".into(), text)
}

pub(super) fn range(value: f64, low: f64, high: f64) -> String {
    format!("{} ({} to {})", number(value), number(low), number(high))
}

pub(super) fn percent(v: f64) -> String {
    format!("{} %", number(v * 100.0))
}

pub(super) fn percent_range(i: Range) -> String {
    format!(
        "{} ({} to {})",
        percent(i.value),
        number(i.low * 100.0),
        number(i.high * 100.0)
    )
}

pub(super) fn rules(rules: &[RuleResult]) -> String {
    let heading = [
        "rule", "bytes", "packets", "ms", "applies", "formula", "source",
    ];
    let rows = rules.iter().map(|r| {
        [
            r.name.clone(),
            or_dash(r.buffer_bytes),
            or_dash(r.buffer_packets),
            or_dash(r.buffer_ms),
            applies(r),
            r.formula.clone(),
            r.source.clone(),
        ]
    });
    table(heading, rows)
}

/// Formats whether a rule applies: "yes" only if all its assumptions hold. An unknown assumption
/// does not rule it out, but does not count as holding either.
fn applies(r: &RuleResult) -> String {
    let failing = r.failing().next().map(|a| &a.text);
    let unknown = r.unknown().next().map(|a| &a.text);
    match (r.missing.as_ref().or(failing), unknown) {
        (Some(why), _) => format!("no: {why}"),
        (None, Some(what)) => format!("not known: {what}"),
        (None, None) => "yes".into(),
    }
}

fn prediction(p: &Prediction) -> String {
    format!(
        "utilisation {}, loss {}, delay at most {} ms (mean {} ms)",
        percent_range(p.utilisation),
        percent_range(p.loss_rate),
        number(p.delay_ms.value),
        number(p.delay_mean_ms.value)
    )
}

/// Width of wrapped text, in columns.
const WIDTH: usize = 78;

/// Wraps text to the width of a terminal, each line with an indent.
fn wrapped(text: &str, indent: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.len() - 1;
        let line = &mut lines[last];
        let fits = line.chars().count() + word.chars().count() < WIDTH - indent.len();
        match (line.is_empty(), fits) {
            (true, _) => line.push_str(word),
            (false, true) => {
                line.push(' ');
                line.push_str(word);
            }
            (false, false) => lines.push(word.into()),
        }
    }
    lines.iter().map(|l| format!("{indent}{l}")).collect()
}

/// Formats the verdict on a link's buffer: the answer, the limits, the reason.
pub(super) fn verdict(v: &Verdict) -> Vec<String> {
    let mut lines = vec![v.headline()];
    lines.extend(wrapped(&v.because, "  "));
    lines.extend(v.would_change.iter().flat_map(|w| wrapped(w, "  - ")));
    lines
}

/// Formats the verdict for one cell, e.g. "too big: 224 kB".
pub(super) fn answer(v: &Verdict) -> String {
    let set = v.set_bytes.filter(|_| v.answer.sign().is_some());
    set.map_or_else(
        || v.answer.label().into(),
        |b| format!("{}: {}", v.answer.label(), size(b as f64)),
    )
}

/// Lists the papers' rules whose assumptions all hold, with their sizes.
pub(super) fn rules_that_hold(v: &Verdict) -> Vec<String> {
    let hold = v.rules.iter().filter(|r| r.holds == Some(true));
    let sizes: Vec<String> = hold
        .map(|r| format!("{} {}", r.name, size(r.bytes)))
        .collect();
    let list = if sizes.is_empty() {
        "none".into()
    } else {
        sizes.join(", ")
    };
    wrapped(&format!("papers whose assumptions hold: {list}"), "  ")
}

/// Formats the outcome expected at the limit to set.
pub(super) fn expected(a: &Advice) -> Vec<String> {
    let there = a
        .predicted
        .as_ref()
        .map(|p| format!("expected there: {}", prediction(p)));
    there.map_or_else(Vec::new, |text| wrapped(&text, "  "))
}

pub(super) fn advice(a: &Advice) -> String {
    let mut lines = Vec::new();
    match a.limit_bytes {
        Some(bytes) => lines.push(format!(
            "advice: {bytes} bytes ({} packets, {} ms), rule {}",
            or_dash(a.limit_packets),
            or_dash(a.limit_ms),
            a.rule.as_ref().map_or("none", RuleId::as_str)
        )),
        None => lines.push("advice: none".into()),
    }
    if let Some(m) = &a.marking {
        lines.push(format!(
            "if the port marks (mark_ce): that is the threshold, and the limit is {} bytes ({} ms); {}",
            m.limit_bytes,
            number(m.limit_ms),
            m.reason
        ));
    }
    if let Some(p) = &a.predicted {
        lines.push(format!("expected: {}", prediction(p)));
    }
    if let Some(present) = &a.present {
        let expected = present.predicted.as_ref().map_or("-".into(), prediction);
        lines.push(format!(
            "at the present {} bytes: {expected}",
            present.limit_bytes
        ));
    }
    if let Some(i) = &a.infeasible {
        let names: Vec<&str> = i.given_up.iter().map(|g| g.label()).collect();
        lines.push(format!(
            "the targets cannot hold together; given up: {}; possible: utilisation {}, loss {}, delay {} ms",
            names.join(", "),
            percent(i.nearest.utilisation),
            percent(i.nearest.loss_rate),
            number(i.nearest.delay_ms)
        ));
    }
    lines.extend(a.sensitivity.get().iter().map(|s| {
        let bytes = |b: Option<u64>| dash_or(b, |b| b.to_string());
        format!(
            "  {} = {}: {} ({} and {} bytes)",
            s.quantity,
            number(s.value),
            s.decides,
            bytes(s.limit_bytes_less),
            bytes(s.limit_bytes_more)
        )
    }));
    lines.extend(a.reasons.iter().map(|r| format!("  - {r}")));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_rules::Condition;

    #[test]
    fn columns_are_aligned() {
        let row = ["ccc".to_string(), "d".into()];
        assert_eq!(table(["a", "bb"], [row]), "a    bb\nccc  d");
    }

    #[test]
    fn numbers_are_aligned_at_the_right() {
        let row = |cells: [&str; 4]| cells.map(str::to_string);
        let rows = [
            row(["a", "9.50", "98.0 %", "-"]),
            row(["1", "120", "-", "-"]),
        ];
        assert_eq!(
            table(["rule", "ms", "loss", "why"], rows),
            "rule    ms    loss  why\n\
             a     9.50  98.0 %  -\n\
             1      120       -  -"
        );
    }

    #[test]
    fn unknown_false_and_true_differ() {
        let applies = |holds: &[Option<bool>], missing: Option<&str>| {
            let assumptions = holds.iter().map(|&h| Condition::new("all BBR", h));
            super::applies(&RuleResult {
                id: RuleId::from("utb_bbr".to_owned()),
                name: "UTB BBR".into(),
                buffer_bytes: Some(1.0),
                buffer_packets: None,
                buffer_ms: None,
                inputs: Vec::new(),
                assumptions: assumptions.collect(),
                applies: missing.is_none() && !holds.contains(&Some(false)),
                missing: missing.map(Into::into),
                goals: Vec::new(),
                formula: String::new(),
                source: String::new(),
            })
        };
        assert_eq!(applies(&[Some(true), Some(true)], None), "yes");
        assert_eq!(applies(&[Some(true), None], None), "not known: all BBR");
        assert_eq!(applies(&[None, Some(false)], None), "no: all BBR");
        assert_eq!(
            applies(&[None], Some("s is not known")),
            "no: s is not known"
        );
    }

    #[test]
    fn digits() {
        assert_eq!(number(1234.5), "1234");
        assert_eq!(number(0.0123), "0.012");
        assert_eq!(number(0.0), "0");
        assert_eq!(percent(0.98), "98.0 %");
        assert_eq!(or_dash(None), "-");
        assert_eq!(or_dash(Some(1.0 / 0.0)), "-");
    }
}
