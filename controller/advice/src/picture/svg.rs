// SPDX-License-Identifier: Apache-2.0
//! The picture as SVG, 1200 × 600. Its root has `data-` attributes with the place of the limit's
//! axis, so that a page can lay a handle over it.

use super::axis::Point;
use super::figure::{Figure, Panel};
use crate::verdict::size;
use std::fmt::Write;

/// Width, px.
pub const WIDTH: f64 = 1200.0;
/// Height, px.
pub const HEIGHT: f64 = 600.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 1176.0;
const TOP: f64 = 92.0;
const PANEL: f64 = 106.0;
const GAP: f64 = 16.0;
/// Upper edge of the papers' sizes.
const RULES: f64 = TOP + 3.0 * PANEL + 2.0 * GAP + 8.0;
const RULE_ROW: f64 = 14.0;
const RULE_ROWS: usize = 5;
const AXIS: f64 = RULES + RULE_ROW * RULE_ROWS as f64 + 6.0;
/// Mean width of a character over its height.
const LETTER: f64 = 0.54;

/// Colours of the picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// On white, as for paper.
    #[default]
    Light,
    /// On black.
    Dark,
}

struct Palette {
    paper: &'static str,
    ink: &'static str,
    muted: &'static str,
    grid: &'static str,
    curve: &'static str,
    measured: &'static str,
    target: &'static str,
    advised: &'static str,
}

impl Theme {
    fn palette(self) -> Palette {
        match self {
            Theme::Light => Palette {
                paper: "#ffffff",
                ink: "#1b2330",
                muted: "#5d6878",
                grid: "#e3e7ed",
                curve: "#2563c9",
                measured: "#1b2330",
                target: "#b3261e",
                advised: "#127a4b",
            },
            Theme::Dark => Palette {
                paper: "#14181f",
                ink: "#e8ecf2",
                muted: "#9aa6b6",
                grid: "#2a313c",
                curve: "#7fb0ff",
                measured: "#f2f5f9",
                target: "#ff8a80",
                advised: "#5fd39b",
            },
        }
    }
}

/// The figure as an SVG document.
pub fn svg(figure: &Figure, theme: Theme) -> String {
    let mut drawing = Drawing {
        out: String::new(),
        figure,
        colours: theme.palette(),
    };
    drawing.all();
    drawing.out
}

struct Drawing<'a> {
    out: String,
    figure: &'a Figure,
    colours: Palette,
}

/// Side of its point that a text stands on.
#[derive(Clone, Copy)]
enum Anchor {
    Start,
    Middle,
    End,
}

impl Drawing<'_> {
    fn all(&mut self) {
        let f = self.figure;
        self.head();
        self.limits_axis();
        self.serving();
        for (i, panel) in f.panels.iter().enumerate() {
            self.panel(panel, i, TOP + i as f64 * (PANEL + GAP));
        }
        self.value_to_set();
        self.in_force();
        self.rules();
        self.legend();
        self.out.push_str("</svg>\n");
    }

    fn put(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.out.write_fmt(element);
        self.out.push('\n');
    }

    fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, height: f64, colour: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        self.put(format_args!(
            r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" font-size="{height}" fill="{colour}">{}</text>"#,
            escaped(text)
        ));
    }

    fn line(&mut self, from: (f64, f64), to: (f64, f64), colour: &str, more: &str) {
        self.put(format_args!(
            r#"<line x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}" stroke="{colour}" {more}/>"#,
            from.0, from.1, to.0, to.1
        ));
    }

    fn x(&self, bytes: f64) -> f64 {
        LEFT + self.figure.limit.part(bytes) * (RIGHT - LEFT)
    }

    fn head(&mut self) {
        let f = self.figure;
        let (low, high) = (f.limit.low, f.limit.high);
        self.put(format_args!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" font-family="'IBM Plex Sans', 'IBM Plex Sans Variable', Helvetica, Arial, sans-serif" role="img" aria-label="{}" data-left="{LEFT}" data-right="{RIGHT}" data-top="{TOP}" data-bottom="{AXIS}" data-low-bytes="{low:.1}" data-high-bytes="{high:.1}">"#,
            escaped(&format!("{}; {}", f.title, f.because))
        ));
        for (i, _) in f.panels.iter().enumerate() {
            let y = TOP + i as f64 * (PANEL + GAP);
            self.put(format_args!(
                r#"<clipPath id="panel-{i}"><rect x="{LEFT}" y="{y}" width="{}" height="{PANEL}"/></clipPath>"#,
                RIGHT - LEFT
            ));
        }
        let Palette {
            paper, ink, muted, ..
        } = self.colours;
        self.put(format_args!(
            r#"<rect width="{WIDTH}" height="{HEIGHT}" fill="{paper}"/>"#
        ));
        self.put(format_args!(
            r#"<text x="{LEFT}" y="30" font-size="20" font-weight="600" fill="{ink}">{}</text>"#,
            escaped(&f.title)
        ));
        self.text((RIGHT, 30.0), Anchor::End, 12.0, muted, &f.subtitle);
        self.text((LEFT, 54.0), Anchor::Start, 13.0, muted, &f.because);
    }

    /// The advised interval, behind the curves.
    fn serving(&mut self) {
        let Some([low, _, high]) = self.figure.advised_bytes else {
            return;
        };
        let colour = self.colours.advised;
        let (from, to) = (self.x(low).max(LEFT), self.x(high).min(RIGHT));
        self.put(format_args!(
            r#"<rect x="{from:.1}" y="{TOP}" width="{:.1}" height="{:.1}" fill="{colour}" fill-opacity="0.12"/>"#,
            (to - from).max(1.0),
            AXIS - TOP
        ));
    }

    /// The value to set.
    fn value_to_set(&mut self) {
        let Some([_, set, _]) = self.figure.advised_bytes else {
            return;
        };
        let (colour, x) = (self.colours.advised, self.x(set));
        self.line((x, TOP - 6.0), (x, AXIS), colour, r#"stroke-width="2""#);
        self.text(
            (x, TOP - 10.0),
            Anchor::Middle,
            12.0,
            colour,
            &format!("set {}", size(set)),
        );
    }

    fn in_force(&mut self) {
        let Some(bytes) = self.figure.in_force_bytes else {
            return;
        };
        let x = self.x(bytes);
        if !(LEFT..=RIGHT).contains(&x) {
            return;
        }
        let ink = self.colours.ink;
        let dashes = r#"stroke-width="1.5" stroke-dasharray="2 4""#;
        self.line((x, TOP - 6.0), (x, AXIS), ink, dashes);
        // Next to the label of the value to set, if that is near.
        let near = |[_, set, _]: [f64; 3]| (self.x(set) - x).abs() < 130.0;
        let (anchor, at) = match self.figure.advised_bytes {
            Some(advised) if near(advised) && self.x(advised[1]) > x => (Anchor::End, x - 2.0),
            Some(advised) if near(advised) => (Anchor::Start, x + 2.0 + self.room_left_of(x)),
            _ => (Anchor::Middle, x),
        };
        let label = format!("in force {}", size(bytes));
        self.text((at, TOP - 10.0), anchor, 12.0, ink, &label);
    }

    /// Room for the label of the value to set, which is left of `x`, px.
    fn room_left_of(&self, x: f64) -> f64 {
        let end = |[_, set, _]: [f64; 3]| self.x(set) + 40.0;
        let end = self.figure.advised_bytes.map_or(0.0, end);
        (end - x).max(0.0)
    }

    fn limits_axis(&mut self) {
        let f = self.figure;
        let Palette { muted, grid, .. } = self.colours;
        let ticks = f.limit.ticks(9);
        for &bytes in &ticks {
            let x = self.x(bytes);
            self.line((x, TOP), (x, AXIS), grid, r#"stroke-width="1""#);
        }
        self.line((LEFT, AXIS), (RIGHT, AXIS), muted, r#"stroke-width="1""#);
        let ms = f
            .bytes_per_ms
            .map(|per| ("ms", per, number as fn(f64) -> String));
        let packets = f
            .bytes_per_packet
            .map(|per| ("packets", per, number as fn(f64) -> String));
        let rows = [Some(("limit", 1.0, size as fn(f64) -> String)), ms, packets];
        for (i, (name, per, words)) in rows.into_iter().flatten().enumerate() {
            let y = AXIS + 15.0 + i as f64 * 14.0;
            self.text((LEFT - 10.0, y), Anchor::End, 11.0, muted, name);
            for &bytes in &ticks {
                let label = words(bytes / per);
                self.text((self.x(bytes), y), Anchor::Middle, 11.0, muted, &label);
            }
        }
    }

    fn panel(&mut self, panel: &Panel, index: usize, top: f64) {
        let y = |value: f64| top + PANEL * (1.0 - panel.axis.part(value));
        let Palette {
            ink,
            muted,
            grid,
            curve,
            measured,
            target,
            ..
        } = self.colours;
        for value in panel.axis.ticks(4) {
            let at = y(value);
            self.line((LEFT, at), (RIGHT, at), grid, r#"stroke-width="1""#);
            let label = format!("{} {}", number(value), panel.unit);
            self.text(
                (LEFT - 10.0, at + 4.0),
                Anchor::End,
                11.0,
                muted,
                label.trim(),
            );
        }
        self.put(format_args!(r#"<g clip-path="url(#panel-{index})">"#));
        let ends = panel.curve.iter().map(|p| (p, p.high));
        let ends = ends.chain(panel.curve.iter().rev().map(|p| (p, p.low)));
        let range = self.path(ends, &y);
        self.put(format_args!(
            r#"<path d="{range}Z" fill="{curve}" fill-opacity="0.16"/>"#
        ));
        let line = self.path(panel.curve.iter().map(|p| (p, p.value)), &y);
        self.put(format_args!(
            r#"<path d="{line}" fill="none" stroke="{curve}" stroke-width="2"/>"#
        ));
        if !panel.mean.is_empty() {
            let mean = self.path(panel.mean.iter().map(|p| (p, p.value)), &y);
            self.put(format_args!(
                r#"<path d="{mean}" fill="none" stroke="{curve}" stroke-width="1.2" stroke-dasharray="5 3"/>"#
            ));
        }
        self.put(format_args!("</g>"));
        if let Some(bound) = panel.target {
            let at = y(bound);
            let dashes = r#"stroke-width="1.5" stroke-dasharray="7 4""#;
            self.line((LEFT, at), (RIGHT, at), target, dashes);
        }
        for p in &panel.measured {
            let (x, low, high) = (self.x(p.limit_bytes), y(p.low), y(p.high));
            let inside = |at: f64| at.clamp(top, top + PANEL);
            let (low, high) = (inside(low), inside(high));
            self.line((x, low), (x, high), measured, r#"stroke-width="2""#);
            for end in [low, high] {
                self.line(
                    (x - 4.0, end),
                    (x + 4.0, end),
                    measured,
                    r#"stroke-width="2""#,
                );
            }
            self.put(format_args!(
                r#"<circle cx="{x:.1}" cy="{:.1}" r="4.5" fill="{measured}"/>"#,
                inside(y(p.value))
            ));
        }
        self.put(format_args!(
            r#"<text x="{:.1}" y="{:.1}" font-size="13" font-weight="600" fill="{ink}">{}</text>"#,
            LEFT + 8.0,
            top + 16.0,
            panel.name
        ));
        if !panel.mean.is_empty() {
            let words = "largest; dashed: mean";
            self.text((LEFT + 48.0, top + 16.0), Anchor::Start, 11.0, muted, words);
        }
    }

    fn path<'p>(
        &self,
        points: impl Iterator<Item = (&'p Point, f64)>,
        y: &impl Fn(f64) -> f64,
    ) -> String {
        let mut d = String::new();
        for (p, value) in points {
            let command = if d.is_empty() { 'M' } else { 'L' };
            // Far outside the panel, which cuts it: renderers have their limits.
            let at = y(value).clamp(-1e4, 1e4);
            let _ = write!(d, "{command}{:.1} {at:.1}", self.x(p.limit_bytes));
        }
        d
    }

    /// The papers' sizes: a mark each at its limit, the name in the first row with room.
    fn rules(&mut self) {
        let mut ends = [LEFT - 100.0; RULE_ROWS];
        let Palette { ink, muted, .. } = self.colours;
        for rule in &self.figure.rules {
            let x = self.x(rule.bytes);
            let width = rule.name.chars().count() as f64 * 11.0 * LETTER + 16.0;
            // A name that would leave the picture stands left of its mark.
            let (start, anchor, at) = if x + width > RIGHT {
                (x - width, Anchor::End, x - 7.0)
            } else {
                (x, Anchor::Start, x + 7.0)
            };
            let row = ends.iter().position(|end| start >= *end);
            let y = RULES + row.unwrap_or(RULE_ROWS - 1) as f64 * RULE_ROW + 10.0;
            let (colour, fill, more) = match rule.holds {
                Some(true) => (ink, ink, ""),
                None => (muted, "none", ""),
                Some(false) => (muted, "none", r#" text-decoration="line-through""#),
            };
            self.put(format_args!(
                r#"<circle cx="{x:.1}" cy="{:.1}" r="3.5" fill="{fill}" stroke="{colour}" stroke-width="1.5"><title>{}: {}</title></circle>"#,
                y - 4.0,
                escaped(&rule.name),
                size(rule.bytes)
            ));
            let Some(row) = row else { continue };
            ends[row] = start + width;
            let anchor = if matches!(anchor, Anchor::End) {
                "end"
            } else {
                "start"
            };
            self.put(format_args!(
                r#"<text x="{at:.1}" y="{y:.1}" text-anchor="{anchor}" font-size="11" fill="{colour}"{more}>{}</text>"#,
                escaped(&rule.name)
            ));
        }
        self.text(
            (LEFT - 10.0, RULES + 10.0),
            Anchor::End,
            11.0,
            muted,
            "papers",
        );
    }

    fn legend(&mut self) {
        let Palette {
            muted,
            ink,
            curve,
            measured,
            target,
            advised,
            ..
        } = self.colours;
        let y = HEIGHT - 10.0;
        let entries = [
            (measured, "circle", "measured, sampling error"),
            (curve, "line", "expected, range"),
            (target, "dash", "target"),
            (ink, "dots", "limit in force"),
            (advised, "line", "to set, limits that serve"),
            (ink, "circle", "paper: assumptions hold"),
            (muted, "ring", "unknown, or fail (struck out)"),
        ];
        let mut x = LEFT;
        for (colour, kind, words) in entries {
            let middle = y - 4.0;
            match kind {
                "circle" => self.put(format_args!(
                    r#"<circle cx="{:.1}" cy="{middle}" r="4" fill="{colour}"/>"#,
                    x + 8.0
                )),
                "ring" => self.put(format_args!(
                    r#"<circle cx="{:.1}" cy="{middle}" r="3.5" fill="none" stroke="{colour}" stroke-width="1.5"/>"#,
                    x + 8.0
                )),
                _ => {
                    let dashes = match kind {
                        "dash" => r#"stroke-width="2" stroke-dasharray="7 4""#,
                        "dots" => r#"stroke-width="2" stroke-dasharray="2 4""#,
                        _ => r#"stroke-width="2""#,
                    };
                    self.line((x, middle), (x + 18.0, middle), colour, dashes);
                }
            }
            self.text((x + 23.0, y), Anchor::Start, 11.0, muted, words);
            x += 23.0 + words.chars().count() as f64 * 11.0 * LETTER * 0.93 + 14.0;
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// A number for people: three significant digits, no trailing zeros.
pub(super) fn number(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.9995 || v == 0.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        let text = text.trim_end_matches('0').trim_end_matches('.');
        return if text == "-0" { "0" } else { text }.to_owned();
    }
    text
}
