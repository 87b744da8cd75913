// SPDX-License-Identifier: Apache-2.0
//! Plain text tables and numbers for people.

use tidemark_rules::{Advice, Prediction, Range, RuleId, RuleResult};

/// A table with aligned columns and a heading.
pub(super) fn table<const N: usize>(
    heading: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(heading).add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    if let Some(columns) = terminal_columns() {
        table.set_content_arrangement(comfy_table::ContentArrangement::Dynamic);
        table.set_width(columns);
    }
    table.trim_fmt()
}

/// How wide the terminal is; `None` where something else reads what is printed.
fn terminal_columns() -> Option<u16> {
    use std::io::IsTerminal as _;
    let size = ratatui::crossterm::terminal::size();
    let columns = size.ok().map(|(columns, _)| columns)?;
    (std::io::stdout().is_terminal() && columns > 0).then_some(columns)
}

/// A number with as many digits as are worth reading.
pub(super) fn number(v: f64) -> String {
    match v.abs() {
        a if a >= 100.0 => format!("{v:.0}"),
        a if a >= 10.0 => format!("{v:.1}"),
        a if a >= 0.1 || a == 0.0 => format!("{v:.2}"),
        _ => format!("{v:.3}"),
    }
}

/// The same, or a dash.
pub(super) fn or_dash(v: Option<f64>) -> String {
    v.map_or_else(|| "-".into(), number)
}

/// A fraction in percent.
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

/// Every rule, one a line.
pub(super) fn rules(rules: &[RuleResult]) -> String {
    let heading = [
        "rule", "bytes", "packets", "ms", "applies", "formula", "source",
    ];
    let rows = rules.iter().map(|r| {
        let why = r
            .missing
            .clone()
            .or_else(|| r.failing().next().map(|a| a.text.clone()));
        let applies = match (r.applies, why) {
            (true, _) => "yes".into(),
            (false, Some(why)) => format!("no: {why}"),
            (false, None) => "no".into(),
        };
        [
            r.name.clone(),
            or_dash(r.buffer_bytes),
            or_dash(r.buffer_packets),
            or_dash(r.buffer_ms),
            applies,
            r.formula.clone(),
            r.source.clone(),
        ]
    });
    table(heading, rows)
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

/// An advice in words.
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
            "where the port marks (mark_ce): that is the threshold, and the limit {} bytes ({} ms); {}",
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
        let bytes = |b: Option<u64>| b.map_or("-".into(), |b| b.to_string());
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

    #[test]
    fn columns_are_aligned() {
        let row = ["ccc".to_string(), "d".into()];
        assert_eq!(table(["a", "bb"], [row]), "a    bb\nccc  d");
    }

    #[test]
    fn digits() {
        assert_eq!(number(1234.5), "1234");
        assert_eq!(number(0.0123), "0.012");
        assert_eq!(number(0.0), "0.00");
        assert_eq!(percent(0.98), "98.0 %");
        assert_eq!(or_dash(None), "-");
    }
}
