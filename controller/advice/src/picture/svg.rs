// SPDX-License-Identifier: Apache-2.0
//! The picture as SVG, for paper or for a page. Its root has `data-` attributes with the position
//! of the limit axis, so that a page can lay a handle over it.

use super::axis::Point;
use super::figure::{Figure, Panel};
use crate::verdict::size;
use std::fmt::Write;

/// Height of a row of the papers' sizes, px.
const RULE_ROW: f64 = 14.0;
/// Height of a line of the limit axis and of the legend, px.
const LINE: f64 = 14.0;
/// Page width below which the layout is that of a phone, px.
const NARROW: f64 = 480.0;
/// Ratio of a character's mean width to its height.
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

/// Positions in the picture, px.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layout {
    /// Width of the picture.
    pub width: f64,
    left: f64,
    right: f64,
    top: f64,
    /// Height of a panel, and the gap below it.
    panel: (f64, f64),
    /// Number of rows for the papers' sizes.
    rule_rows: usize,
    /// Whether the picture stands alone, with title, reason and background.
    alone: bool,
}

impl Layout {
    /// For paper and slides: 1200 × 600, with title, reason and the papers' sizes.
    pub const PAPER: Self = Self {
        width: 1200.0,
        left: 84.0,
        right: 1176.0,
        top: 92.0,
        panel: (106.0, 16.0),
        rule_rows: 5,
        alone: true,
    };

    /// For a page that has title and reason itself, `width` px wide, from 240 to 2400.
    pub fn page(width: f64) -> Self {
        let width = width.clamp(240.0, 2400.0);
        Self {
            width,
            left: 62.0,
            right: width - 14.0,
            top: 22.0,
            panel: (if width < NARROW { 56.0 } else { 84.0 }, 16.0),
            rule_rows: 0,
            alone: false,
        }
    }

    /// Returns the upper edge of the `index`-th panel.
    fn panel_top(&self, index: usize) -> f64 {
        self.top + index as f64 * (self.panel.0 + self.panel.1)
    }

    /// Returns the upper edge of the papers' sizes.
    fn rules(&self) -> f64 {
        self.panel_top(3) - self.panel.1 + if self.rule_rows > 0 { 8.0 } else { 0.0 }
    }

    /// Returns the position of the limit axis.
    fn axis(&self) -> f64 {
        let rows = self.rule_rows as f64 * RULE_ROW;
        self.rules() + if rows > 0.0 { rows + 6.0 } else { 0.0 }
    }

    /// Returns the number of ticks for which the limit axis has room.
    fn ticks(&self) -> usize {
        (((self.right - self.left) / 62.0) as usize).clamp(3, 9)
    }
}

/// Draws the figure as an SVG document.
pub fn svg(figure: &Figure, theme: Theme, layout: &Layout) -> String {
    let mut drawing = Drawing {
        out: String::new(),
        figure,
        colours: theme.palette(),
        at: *layout,
    };
    drawing.all();
    drawing.out
}

struct Drawing<'a> {
    out: String,
    figure: &'a Figure,
    colours: Palette,
    at: Layout,
}

/// Side of a text that is aligned with its point.
#[derive(Clone, Copy)]
enum Anchor {
    Start,
    Middle,
    End,
}

impl Drawing<'_> {
    fn all(&mut self) {
        let f = self.figure;
        let legend = self.legend();
        self.head(legend.height);
        self.limits_axis();
        self.serving();
        for (i, panel) in f.panels.iter().enumerate() {
            self.panel(panel, i, self.at.panel_top(i));
        }
        self.value_to_set();
        self.in_force();
        if self.at.rule_rows > 0 {
            self.rules();
        }
        self.draw_legend(&legend);
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
        let Layout { left, right, .. } = self.at;
        left + self.figure.limit.part(bytes) * (right - left)
    }

    fn head(&mut self, height: f64) {
        let f = self.figure;
        let (low, high) = (f.limit.low, f.limit.high);
        let Layout {
            width,
            left,
            right,
            top,
            ..
        } = self.at;
        let axis = self.at.axis();
        self.put(format_args!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="'IBM Plex Sans', 'IBM Plex Sans Variable', Helvetica, Arial, sans-serif" role="img" aria-label="{}" data-left="{left}" data-right="{right}" data-top="{top}" data-bottom="{axis}" data-low-bytes="{low:.1}" data-high-bytes="{high:.1}">"#,
            escaped(&format!("{}; {}", f.title, f.because))
        ));
        for i in 0..f.panels.len() {
            let (y, panel) = (self.at.panel_top(i), self.at.panel.0);
            self.put(format_args!(
                r#"<clipPath id="panel-{i}"><rect x="{left}" y="{y}" width="{}" height="{panel}"/></clipPath>"#,
                right - left
            ));
        }
        if !self.at.alone {
            return;
        }
        let Palette {
            paper, ink, muted, ..
        } = self.colours;
        self.put(format_args!(
            r#"<rect width="{width}" height="{height}" fill="{paper}"/>"#
        ));
        self.put(format_args!(
            r#"<text x="{left}" y="30" font-size="20" font-weight="600" fill="{ink}">{}</text>"#,
            escaped(&f.title)
        ));
        self.text((right, 30.0), Anchor::End, 12.0, muted, &f.subtitle);
        self.text((left, 54.0), Anchor::Start, 13.0, muted, &f.because);
    }

    /// Draws the advised interval, behind the curves.
    fn serving(&mut self) {
        let Some([low, _, high]) = self.figure.advised_bytes else {
            return;
        };
        let colour = self.colours.advised;
        let Layout {
            left, right, top, ..
        } = self.at;
        let (from, to) = (self.x(low).max(left), self.x(high).min(right));
        self.put(format_args!(
            r#"<rect x="{from:.1}" y="{top}" width="{:.1}" height="{:.1}" fill="{colour}" fill-opacity="0.12"/>"#,
            (to - from).max(1.0),
            self.at.axis() - top
        ));
    }

    /// Draws the value to set.
    fn value_to_set(&mut self) {
        let Some([_, set, _]) = self.figure.advised_bytes else {
            return;
        };
        let (colour, x) = (self.colours.advised, self.x(set));
        self.line(
            (x, self.at.top - 6.0),
            (x, self.at.axis()),
            colour,
            r#"stroke-width="2""#,
        );
        self.text(
            (x, self.at.top - 10.0),
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
        if !(self.at.left..=self.at.right).contains(&x) {
            return;
        }
        let ink = self.colours.ink;
        let dashes = r#"stroke-width="1.5" stroke-dasharray="2 4""#;
        self.line((x, self.at.top - 6.0), (x, self.at.axis()), ink, dashes);
        // Next to the label of the value to set, if that is near.
        let near = |[_, set, _]: [f64; 3]| (self.x(set) - x).abs() < 130.0;
        let (anchor, at) = match self.figure.advised_bytes {
            Some(advised) if near(advised) && self.x(advised[1]) > x => (Anchor::End, x - 2.0),
            Some(advised) if near(advised) => (Anchor::Start, x + 2.0 + self.room_left_of(x)),
            _ => (Anchor::Middle, x),
        };
        let label = format!("in force {}", size(bytes));
        self.text((at, self.at.top - 10.0), anchor, 12.0, ink, &label);
    }

    /// Returns the room for the label of the value to set, which is left of `x`, px.
    fn room_left_of(&self, x: f64) -> f64 {
        let end = |[_, set, _]: [f64; 3]| self.x(set) + 40.0;
        let end = self.figure.advised_bytes.map_or(0.0, end);
        (end - x).max(0.0)
    }

    fn limits_axis(&mut self) {
        let f = self.figure;
        let Palette { muted, grid, .. } = self.colours;
        let ticks = f.limit.ticks(self.at.ticks());
        for &bytes in &ticks {
            let x = self.x(bytes);
            self.line(
                (x, self.at.top),
                (x, self.at.axis()),
                grid,
                r#"stroke-width="1""#,
            );
        }
        self.line(
            (self.at.left, self.at.axis()),
            (self.at.right, self.at.axis()),
            muted,
            r#"stroke-width="1""#,
        );
        let ms = f
            .bytes_per_ms
            .map(|per| ("ms", per, number as fn(f64) -> String));
        let packets = f
            .bytes_per_packet
            .map(|per| ("packets", per, number as fn(f64) -> String));
        let rows = [Some(("limit", 1.0, size as fn(f64) -> String)), ms, packets];
        for (i, (name, per, words)) in rows.into_iter().flatten().enumerate() {
            let y = self.at.axis() + 15.0 + i as f64 * 14.0;
            self.text((self.at.left - 10.0, y), Anchor::End, 11.0, muted, name);
            for &bytes in &ticks {
                let label = words(bytes / per);
                self.text((self.x(bytes), y), Anchor::Middle, 11.0, muted, &label);
            }
        }
    }

    fn panel(&mut self, panel: &Panel, index: usize, top: f64) {
        let height = self.at.panel.0;
        let y = |value: f64| top + height * (1.0 - panel.axis.part(value));
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
            self.line(
                (self.at.left, at),
                (self.at.right, at),
                grid,
                r#"stroke-width="1""#,
            );
            let label = format!("{} {}", number(value), panel.unit);
            self.text(
                (self.at.left - 10.0, at + 4.0),
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
            self.line((self.at.left, at), (self.at.right, at), target, dashes);
        }
        for p in &panel.measured {
            let (x, low, high) = (self.x(p.limit_bytes), y(p.low), y(p.high));
            let inside = |at: f64| at.clamp(top, top + height);
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
            self.at.left + 8.0,
            top + 16.0,
            panel.name
        ));
        if !panel.mean.is_empty() {
            let words = if self.at.width < NARROW {
                "dashed: mean"
            } else {
                "largest; dashed: mean"
            };
            self.text(
                (self.at.left + 48.0, top + 16.0),
                Anchor::Start,
                11.0,
                muted,
                words,
            );
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
            // Keeps values far outside the panel, which is clipped, within the limits of renderers.
            let at = y(value).clamp(-1e4, 1e4);
            let _ = write!(d, "{command}{:.1} {at:.1}", self.x(p.limit_bytes));
        }
        d
    }

    /// Draws the papers' sizes: a mark at each limit, the name in the first row with room.
    fn rules(&mut self) {
        let mut ends = vec![self.at.left - 100.0; self.at.rule_rows];
        let Palette { ink, muted, .. } = self.colours;
        for rule in &self.figure.rules {
            let x = self.x(rule.bytes);
            let width = rule.name.chars().count() as f64 * 11.0 * LETTER + 16.0;
            // A name that would extend beyond the picture goes left of its mark.
            let (start, anchor, at) = if x + width > self.at.right {
                (x - width, Anchor::End, x - 7.0)
            } else {
                (x, Anchor::Start, x + 7.0)
            };
            let row = ends.iter().position(|end| start >= *end);
            let y = self.at.rules() + row.unwrap_or(self.at.rule_rows - 1) as f64 * RULE_ROW + 10.0;
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
            (self.at.left - 10.0, self.at.rules() + 10.0),
            Anchor::End,
            11.0,
            muted,
            "papers",
        );
    }

    /// Lays out the legend in lines that fit, below the axis.
    fn legend(&self) -> Legend {
        let c = &self.colours;
        let keys = [
            (c.measured, "circle", "measured, sampling error"),
            (c.curve, "line", "expected, range"),
            (c.target, "dash", "target"),
            (c.ink, "dots", "limit in force"),
            (c.advised, "line", "to set, limits that serve"),
            (c.ink, "circle", "paper: assumptions hold"),
            (c.muted, "ring", "unknown, or fail (struck out)"),
        ];
        let shown = if self.at.rule_rows > 0 { 7 } else { 5 };
        let f = self.figure;
        let units = [f.bytes_per_ms, f.bytes_per_packet]
            .iter()
            .flatten()
            .count();
        let mut y = self.at.axis() + 15.0 + units as f64 * LINE + 20.0;
        let mut x = self.at.left;
        let mut placed = Vec::new();
        for &(colour, kind, words) in keys.iter().take(shown) {
            let width = 23.0 + words.chars().count() as f64 * 11.0 * LETTER * 0.93 + 14.0;
            if x + width - 14.0 > self.at.width && x > self.at.left {
                (x, y) = (self.at.left, y + LINE + 2.0);
            }
            placed.push((x, y, colour, kind, words));
            x += width;
        }
        Legend {
            keys: placed,
            height: y + 11.0,
        }
    }

    fn draw_legend(&mut self, legend: &Legend) {
        for &(x, y, colour, kind, words) in &legend.keys {
            let (middle, centre) = (y - 4.0, x + 8.0);
            match kind {
                "circle" => self.put(format_args!(
                    r#"<circle cx="{centre:.1}" cy="{middle}" r="4" fill="{colour}"/>"#
                )),
                "ring" => self.put(format_args!(
                    r#"<circle cx="{centre:.1}" cy="{middle}" r="3.5" fill="none" stroke="{colour}" stroke-width="1.5"/>"#
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
            let muted = self.colours.muted;
            self.text((x + 23.0, y), Anchor::Start, 11.0, muted, words);
        }
    }
}

/// Keys of the legend with their positions, and the height of the picture below them, px.
struct Legend {
    keys: Vec<(f64, f64, &'static str, &'static str, &'static str)>,
    height: f64,
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Formats a number with three significant digits, without trailing zeros.
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
