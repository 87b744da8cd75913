// SPDX-License-Identifier: Apache-2.0
//! The picture as text, 80 columns wide.

use super::axis::Point;
use super::figure::{Figure, Panel};
use super::svg::number;
use crate::verdict::size;

/// Columns of the labels before the plot.
const LABEL: usize = 10;
/// Columns of the plot.
const PLOT: usize = 68;
/// Rows of a panel.
const ROWS: usize = 6;

/// Draws the figure in lines of at most 80 columns.
pub fn text(figure: &Figure) -> String {
    let mut lines = vec![cut(&figure.title)];
    if !figure.subtitle.is_empty() {
        lines.push(cut(&figure.subtitle));
    }
    for panel in &figure.panels {
        lines.extend(rows(figure, panel));
    }
    lines.push(marks(figure));
    lines.extend(ticks(figure));
    lines.push(cut(&format!(
        "{:LABEL$} ● measured ─ expected ░ range ╌ mean ┄ target [ | ] to set",
        ""
    )));
    let hold = figure.rules.iter().filter(|r| r.holds == Some(true));
    let hold: Vec<String> = hold
        .map(|r| format!("{} {}", r.name, size(r.bytes)))
        .collect();
    if !hold.is_empty() {
        lines.push(cut(&format!("papers that apply: {}", hold.join(", "))));
    }
    lines.join("\n")
}

fn cut(line: &str) -> String {
    const MOST: usize = 80;
    match line.char_indices().nth(MOST) {
        Some(_) => line.chars().take(MOST - 1).chain(['…']).collect(),
        None => line.to_owned(),
    }
}

fn column(figure: &Figure, bytes: f64) -> Option<usize> {
    let part = figure.limit.part(bytes);
    (0.0..=1.0)
        .contains(&part)
        .then(|| (part * (PLOT - 1) as f64).round() as usize)
}

/// Returns the row of a value from the top; `None` outside the panel.
fn row(panel: &Panel, value: f64) -> Option<usize> {
    let part = panel.axis.part(value);
    (0.0..=1.0)
        .contains(&part)
        .then(|| ((1.0 - part) * (ROWS - 1) as f64).round() as usize)
}

fn rows(figure: &Figure, panel: &Panel) -> Vec<String> {
    let mut cells = vec![vec![' '; PLOT]; ROWS];
    if let Some(r) = panel.target.and_then(|t| row(panel, t)) {
        cells[r].fill('┄');
    }
    for c in 0..PLOT {
        let bytes = figure.limit.at(c as f64 / (PLOT - 1) as f64);
        if let Some(r) = at(&panel.mean, bytes).and_then(|(_, mean, _)| row(panel, mean)) {
            cells[r][c] = '╌';
        }
        let Some((low, value, high)) = at(&panel.curve, bytes) else {
            continue;
        };
        for (r, line) in cells.iter_mut().enumerate() {
            let there = panel.axis.at(1.0 - r as f64 / (ROWS - 1) as f64);
            let half = 0.5 * (panel.axis.high - panel.axis.low) / (ROWS - 1) as f64;
            if low - half < there && there < high + half && high - low > half && line[c] != '╌' {
                line[c] = '░';
            }
        }
        if let Some(r) = row(panel, value) {
            cells[r][c] = '─';
        }
    }
    for p in &panel.measured {
        if let (Some(c), Some(r)) = (column(figure, p.limit_bytes), row(panel, p.value)) {
            cells[r][c] = '●';
        }
    }
    let label = |r: usize| match r {
        0 => format!("{} {}", number(panel.axis.high), panel.unit),
        r if r + 1 == ROWS => format!("{} {}", number(panel.axis.low), panel.unit),
        1 => panel.name.replace("utilisation", "utilis."),
        _ => String::new(),
    };
    let lines = cells.iter().enumerate();
    lines
        .map(|(r, cells)| {
            let plot: String = cells.iter().collect();
            format!("{:>LABEL$}┤{plot}", label(r)).trim_end().to_owned()
        })
        .collect()
}

/// Interpolates the curve at a limit, linearly in the logarithm of the limit.
fn at(curve: &[Point], bytes: f64) -> Option<(f64, f64, f64)> {
    let i = curve.partition_point(|p| p.limit_bytes < bytes);
    let (a, b) = (curve.get(i.checked_sub(1)?)?, curve.get(i)?);
    let part = (bytes / a.limit_bytes).ln() / (b.limit_bytes / a.limit_bytes).ln();
    let between = |x: f64, y: f64| x + part * (y - x);
    Some((
        between(a.low, b.low),
        between(a.value, b.value),
        between(a.high, b.high),
    ))
}

/// Draws the marks of the advice and of the limit in force.
fn marks(figure: &Figure) -> String {
    let mut cells = vec!['─'; PLOT];
    let mut set = |bytes: f64, mark: char| {
        if let Some(c) = column(figure, bytes) {
            cells[c] = mark;
        }
    };
    if let Some(bytes) = figure.in_force_bytes {
        set(bytes, '▲');
    }
    if let Some([low, value, high]) = figure.advised_bytes {
        set(low, '[');
        set(high, ']');
        set(value, '|');
    }
    let plot: String = cells.iter().collect();
    format!("{:>LABEL$}└{plot}", "▲ in force")
}

fn ticks(figure: &Figure) -> Vec<String> {
    let ticks = figure.limit.ticks(6);
    let line = |name: &str, per: f64, words: &dyn Fn(f64) -> String| {
        let mut out = format!("{name:>LABEL$} ");
        for &bytes in &ticks {
            let Some(c) = column(figure, bytes) else {
                continue;
            };
            let label = words(bytes / per);
            let half = label.chars().count() / 2;
            let start = (LABEL + 1 + c).saturating_sub(half);
            let there = out.chars().count();
            if start > there && start + label.chars().count() <= 80 {
                out.push_str(&" ".repeat(start - there));
                out.push_str(&label);
            }
        }
        out
    };
    let mut lines = vec![line("limit", 1.0, &size)];
    lines.extend(figure.bytes_per_ms.map(|per| line("ms", per, &number)));
    lines.extend(
        figure
            .bytes_per_packet
            .map(|per| line("packets", per, &number)),
    );
    lines
}
