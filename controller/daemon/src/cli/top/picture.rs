// SPDX-License-Identifier: Apache-2.0
//! Draws all links, or one with its flows.

use super::asking::{LinkKey, State};
use super::rows::{self, Condition};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Cell, Paragraph, Row, Table, TableState};
use serde_json::json;
use tidemark_api::{Link, LinkFlow};

const KEYS: &str = "arrows choose, Enter opens, Esc goes back, q ends";

#[derive(Default)]
pub(super) struct Screen {
    /// Whether marks are coloured; otherwise they are bold.
    colours: bool,
    state: Option<State>,
    /// Why the last request was not answered.
    pub problem: Option<String>,
    pub chosen: Option<LinkKey>,
    pub open: Option<LinkKey>,
}

fn key(l: &Link) -> LinkKey {
    crate::cli::remote::link_id(l)
}

impl Screen {
    pub(super) fn new(colours: bool) -> Self {
        Self {
            colours,
            ..Self::default()
        }
    }

    pub(super) fn hear(&mut self, mut state: State) {
        state
            .links
            .sort_by_cached_key(|l| (Condition::of(l).rank(), key(l)));
        self.problem = None;
        self.chosen = self
            .chosen
            .filter(|c| state.links.iter().any(|l| key(l) == *c))
            .or_else(|| state.links.first().map(key));
        self.state = Some(state);
    }

    /// Moves the choice down by this many rows.
    pub(super) fn choose(&mut self, rows: isize) {
        let Some(links) = self.state.as_ref().map(|s| &s.links) else {
            return;
        };
        let at = links.iter().position(|l| Some(key(l)) == self.chosen);
        let last = links.len().saturating_sub(1);
        let to = at.unwrap_or(0).saturating_add_signed(rows).min(last);
        self.chosen = links.get(to).map(key);
        if self.open.is_some() {
            self.open = self.chosen;
        }
    }

    pub(super) fn draw(&self, frame: &mut Frame<'_>) {
        let [head, body, foot] = Layout::vertical([
            Constraint::Length(2),
            Constraint::Min(1),
            Constraint::Length(1),
        ])
        .areas(frame.area());
        frame.render_widget(Paragraph::new(self.head()), head);
        frame.render_widget(
            Paragraph::new(KEYS).style(Style::new().add_modifier(Modifier::DIM)),
            foot,
        );
        let Some(state) = &self.state else {
            return;
        };
        match state.links.iter().find(|l| Some(key(l)) == self.open) {
            Some(l) => one(frame, body, l, state),
            None => self.all(frame, body, &state.links),
        }
    }

    fn mark(&self, colour: Color) -> Style {
        if self.colours {
            Style::new().fg(colour)
        } else {
            Style::new().add_modifier(Modifier::BOLD)
        }
    }

    fn head(&self) -> Vec<Line<'_>> {
        let Some(state) = &self.state else {
            return vec![Line::from("asking the controller")];
        };
        let s = &state.status;
        let connected = s.collectors.iter().filter(|c| c.connected).count();
        let lost: u64 = s.collectors.iter().map(|c| c.status.reports_lost).sum();
        let ready = s.switches.iter().filter(|s| s.ready).count();
        let mode = json!(s.mode);
        let told = format!(
            "tidemark-controller {}, mode {}, up {:.0} s; collectors {connected} of {}, switches {ready} of {}, reports \
             lost {lost}",
            s.version,
            mode.as_str().unwrap_or_default(),
            s.uptime_s,
            s.collectors.len(),
            s.switches.len(),
        );
        let bad = self.mark(Color::Red);
        let second = match &self.problem {
            Some(p) => Line::styled(format!("no answer, what follows is old: {p}"), bad),
            None => Line::from(""),
        };
        vec![Line::from(told), second]
    }

    fn all(&self, frame: &mut Frame<'_>, area: Rect, links: &[Link]) {
        if links.is_empty() {
            frame.render_widget(Paragraph::new("no link has reported yet"), area);
            return;
        }
        let shown = fitting(&LINK_WIDTHS, &LEFT_OUT, area.width);
        let table_rows = links.iter().map(|l| {
            let condition = Condition::of(l);
            let style = match condition {
                Condition::Stale => self.mark(Color::Yellow),
                Condition::Misses(_) => self.mark(Color::Red),
                Condition::Measuring => self.mark(Color::Cyan),
                Condition::Well => Style::new(),
            };
            let texts = rows::link(l).into_iter().chain([condition.text(l)]);
            let cells = texts.enumerate().filter(|(i, _)| shown.contains(i));
            Row::new(cells.map(|(i, text)| match i {
                STATE => Cell::new(text).style(style),
                rows::AGE if condition == Condition::Stale => Cell::new(text).style(style),
                _ => Cell::new(text),
            }))
        });
        let chosen = links.iter().position(|l| Some(key(l)) == self.chosen);
        let of_shown = |i: &usize| LINK_WIDTHS.get(*i).copied().map(Constraint::Length);
        let names = shown
            .iter()
            .filter_map(|i| rows::LINK_HEADING.get(*i).copied());
        let table = Table::new(table_rows, shown.iter().filter_map(of_shown))
            .header(heading(names))
            .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
        let mut at = TableState::new().with_selected(chosen);
        frame.render_stateful_widget(table, area, &mut at);
    }
}

const LINK_WIDTHS: [u16; 12] = [16, 19, 18, 10, 7, 8, 9, 18, 6, 6, 8, 24];
/// Width of one fact of a link: its name and its text.
const FACT_WIDTH: u16 = 40;
/// Column of the condition.
const STATE: usize = LINK_WIDTHS.len() - 1;
/// Columns that a narrow terminal leaves out, least important first: delta, alpha, occupancy, age
/// (also in the state, when it matters), verdict, delay, N_b.
const LEFT_OUT: [usize; 7] = [9, 8, 3, rows::AGE, 2, 6, 7];

/// Widths of the flow columns; the name is as wide as the longest name.
const FLOW_WIDTHS: [u16; 10] = [5, 5, 0, 8, 9, 7, 9, 8, 11, 6];
/// Column of a flow's name.
const FLOW_NAME: usize = 2;
/// Flow columns that a narrow terminal leaves out: base RTT, srtt, share, how sure, control, cwnd.
const FLOW_LEFT_OUT: [usize; 6] = [8, 7, 5, 1, 3, 6];
/// Minimum length of a shortened name.
const SHORTEST_NAME: u16 = 11;

/// Returns the width of these columns, with a space after each.
fn needed(widths: &[u16], shown: &[usize]) -> u16 {
    let widths = shown.iter().filter_map(|i| widths.get(*i));
    widths.map(|w| w + 1).sum()
}

/// Returns the columns that fit, in their order.
fn fitting(widths: &[u16], left_out: &[usize], width: u16) -> Vec<usize> {
    let mut shown: Vec<usize> = (0..widths.len()).collect();
    for left_out in left_out {
        if needed(widths, &shown) > width + 1 {
            shown.retain(|i| i != left_out);
        }
    }
    shown
}

/// Shortens a flow's name to at most `most` characters. Keeps the last ones of either end, which
/// tell the hosts of a network, and ports, apart.
fn shortened(name: &str, most: usize) -> String {
    if name.chars().count() <= most {
        return name.to_owned();
    }
    let between = " > ";
    let ends: Vec<&str> = name.split(between).collect();
    let room = most.saturating_sub(between.len() * (ends.len() - 1)) / ends.len();
    let ends = ends.into_iter().map(|end| {
        let cut = end.chars().count().saturating_sub(room.max(1) - 1);
        let whole = end.chars().count() <= room;
        let last: String = end.chars().skip(cut).collect();
        if whole {
            end.to_owned()
        } else {
            format!("…{last}")
        }
    });
    ends.collect::<Vec<_>>().join(between)
}

/// Builds the table of a link's flows, whose names stay distinct in a narrow terminal.
fn flow_table(flows: &[LinkFlow], capacity_bps: u64, width: u16) -> Table<'static> {
    let rows: Vec<_> = flows.iter().map(|f| rows::flow(f, capacity_bps)).collect();
    let names = rows.iter().map(|r| r[FLOW_NAME].chars().count());
    let longest = names
        .max()
        .unwrap_or(0)
        .max(rows::FLOW_HEADING[FLOW_NAME].len());
    let mut widths = FLOW_WIDTHS;
    widths[FLOW_NAME] = u16::try_from(longest).unwrap_or(u16::MAX / 2);
    let shown = fitting(&widths, &FLOW_LEFT_OUT, width);
    let too_wide = needed(&widths, &shown).saturating_sub(width.saturating_add(1));
    widths[FLOW_NAME] = (widths[FLOW_NAME].saturating_sub(too_wide)).max(SHORTEST_NAME);
    let most = usize::from(widths[FLOW_NAME]);
    let table_rows = rows.into_iter().map(|mut texts| {
        texts[FLOW_NAME] = shortened(&texts[FLOW_NAME], most);
        Row::new(
            shown
                .iter()
                .map(|&i| std::mem::take(&mut texts[i]))
                .collect::<Vec<_>>(),
        )
    });
    let constraints = shown.iter().map(|&i| Constraint::Length(widths[i]));
    let names = shown.iter().map(|&i| rows::FLOW_HEADING[i]);
    Table::new(table_rows.collect::<Vec<_>>(), constraints).header(heading(names))
}

fn heading(names: impl IntoIterator<Item = &'static str>) -> Row<'static> {
    Row::new(names).style(Style::new().add_modifier(Modifier::BOLD))
}

/// Draws one link with its flows. The reasons get at most half of the space that the facts leave.
fn one(frame: &mut Frame<'_>, area: Rect, l: &Link, state: &State) {
    let mut lines = facts(l, area.width);
    let room = area.height.saturating_sub(lines.len() as u16 + 1) / 2;
    let reasons = l.advice.iter().flat_map(|a| &a.reasons);
    lines.extend(wrapped(reasons, area.width, usize::from(room)));
    let [above, below] = Layout::vertical([
        Constraint::Length(lines.len() as u16 + 1),
        Constraint::Min(3),
    ])
    .areas(area);
    frame.render_widget(Paragraph::new(lines), above);
    let flows = state.flows.as_ref().filter(|(of, _)| *of == key(l));
    let Some((_, flows)) = flows else {
        frame.render_widget(Paragraph::new("asking for its flows"), below);
        return;
    };
    let table = flow_table(flows, l.capacity_bps, below.width);
    frame.render_widget(table, below);
}

/// Formats the facts about a link in as many columns as fit.
fn facts(l: &Link, width: u16) -> Vec<Line<'static>> {
    let condition = Condition::of(l).text(l);
    let texts = rows::link(l).into_iter().chain([condition]);
    let facts: Vec<String> = (rows::LINK_HEADING.iter().zip(texts))
        .map(|(name, text)| format!("{name:<12}{text}"))
        .collect();
    let columns = usize::from(width / FACT_WIDTH).clamp(1, facts.len());
    let rows = facts.len().div_ceil(columns);
    let row = |i: usize| {
        let cells = facts.iter().skip(i).step_by(rows);
        cells.map(|f| format!("{f:<w$}", w = usize::from(FACT_WIDTH)))
    };
    (0..rows)
        .map(|i| Line::from(row(i).collect::<String>().trim_end().to_owned()))
        .collect()
}

/// Wraps the reasons to at most `most` lines, and counts the lines left out.
fn wrapped<'a>(
    reasons: impl Iterator<Item = &'a String>,
    width: u16,
    most: usize,
) -> Vec<Line<'static>> {
    let options = textwrap::Options::new(usize::from(width))
        .initial_indent("  - ")
        .subsequent_indent("    ");
    let wrapped: Vec<Vec<_>> = reasons.map(|r| textwrap::wrap(r, &options)).collect();
    let all: usize = wrapped.iter().map(Vec::len).sum();
    let left = |shown: usize| format!("    {} more lines need a taller terminal", all - shown);
    let lines = wrapped.into_iter().flatten();
    let lines = lines.map(|l| Line::from(l.into_owned()));
    if all <= most {
        return lines.collect();
    }
    let shown = most.saturating_sub(1);
    let rest = (most > 0).then(|| Line::from(left(shown)));
    lines.take(shown).chain(rest).collect()
}

#[cfg(test)]
#[path = "picture_tests.rs"]
mod tests;
