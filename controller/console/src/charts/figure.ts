// SPDX-License-Identifier: Apache-2.0
// A chart as it is saved: with title, link, run and time, legend and axes. One description gives
// the SVG, and the PNG is drawn from the SVG.

import type uPlot from 'uplot';
import { captionLine } from './caption';
import { type Box, type Stroke, SvgPen, type View } from './pen';
import { ink } from './theme';

/** Width of a figure, CSS pixels: half of a slide of 1920 px. */
export const WIDTH = 960;
/** Height of the drawing below the legend. */
const HEIGHT = 430;
const MARGIN = 24;
const TEXT = 14;
/** Mean width of a character of that size. */
const CHARACTER = 7.2;
/** Width of a sign in the legend. */
const SIGN = 26;
const LINE = 22;

export type Look = 'line' | 'thin' | 'dashed' | 'dotted' | 'band' | 'bars' | 'ticks' | 'dots' | 'cross' | 'ring';

/** A sign in a chart, and its meaning. */
export interface Sign {
  words: string;
  look: Look;
  colour: string;
}

/** Dash patterns, in the legend as in the charts. */
export const DASHED = [7, 4];
export const DOTTED = [1.5, 3];

export interface FigureParts {
  name: string;
  signs: readonly Sign[];
  /** The time shown, seconds of the axis; null if the chart is not over time. */
  span: readonly [number, number] | null;
  /** Height of the drawing below the legend. */
  height?: number;
  draw: (pen: SvgPen, box: Box) => void;
}

export function figure({ name, signs, span, height = HEIGHT, draw }: FigureParts): string {
  const pen = new SvgPen();
  const about = captionLine(span);
  pen.text(MARGIN, 38, name, 'start', ink('ink'), { size: 22, weight: 600 });
  pen.text(MARGIN, 60, about, 'start', ink('ink-soft'), { size: TEXT });
  const top = legend(pen, signs, 86);
  draw(pen, { left: MARGIN, top, width: WIDTH - 2 * MARGIN, height });
  return pen.file(name, about, WIDTH, Math.round(top + height + MARGIN / 2));
}

/** Draws the legend from `y` down; returns where it ends. */
function legend(pen: SvgPen, signs: readonly Sign[], y: number): number {
  let x = MARGIN;
  let base = y;
  for (const s of signs) {
    const width = SIGN + 8 + s.words.length * CHARACTER;
    if (x > MARGIN && x + width > WIDTH - MARGIN) {
      x = MARGIN;
      base += LINE;
    }
    sign(pen, s, x, base - 5);
    pen.text(x + SIGN + 8, base, s.words, 'start', ink('ink'), { size: TEXT });
    x += width + 22;
  }
  return signs.length > 0 ? base + 14 : y - 12;
}

function sign(pen: SvgPen, { look, colour }: Sign, x: number, y: number): void {
  const across = (width: number, dash: readonly number[] = []): void => pen.segments([x, y, x + SIGN, y], { colour, width, dash });
  const middle = x + SIGN / 2;
  if (look === 'line') across(2);
  else if (look === 'thin') across(1);
  else if (look === 'dashed') across(2, DASHED);
  else if (look === 'dotted') across(2, DOTTED);
  else if (look === 'band') pen.fill(`M${x} ${y - 6}h${SIGN}v12h-${SIGN}z`, colour);
  else if (look === 'bars') pen.fill(`M${x + 3} ${y + 6}v-6h5v6zM${x + 11} ${y + 6}v-12h5v12zM${x + 19} ${y + 6}v-9h5v9z`, colour);
  else if (look === 'ticks') pen.segments([middle - 4, y + 6, middle - 4, y - 4, middle + 4, y + 6, middle + 4, y - 7], { colour, width: 1.5 });
  else if (look === 'dots') pen.dots([middle, y], 6, colour);
  else if (look === 'cross') pen.segments([middle - 4, y - 4, middle + 4, y + 4, middle - 4, y + 4, middle + 4, y - 4], { colour, width: 1.75 });
  else pen.ring(middle, y, 5, { colour, width: 1.5 });
}

export interface Ticks {
  at: readonly number[];
  labels: readonly string[];
}

export interface Axes {
  x: Ticks;
  /** Times of day below the axis. */
  clock: Ticks | null;
  y: Ticks;
  xLabel: string;
  yLabel: string;
}

/** Returns the part of a figure within its axes. */
export function withinAxes(box: Box, clock: boolean): Box {
  const [left, below] = [62, clock ? 64 : 46];
  return { left: box.left + left, top: box.top + 6, width: box.width - left - 20, height: box.height - 6 - below };
}

export function axes(pen: SvgPen, v: View, a: Axes): void {
  const bottom = v.top + v.height;
  const right = v.left + v.width;
  const soft = ink('ink-soft');
  const grid: Stroke = { colour: ink('rule'), width: 1, dash: [2, 3] };
  pen.segments(a.y.at.flatMap((y) => [v.left, v.y(y), right, v.y(y)]), grid);
  pen.segments(a.x.at.flatMap((x) => [v.x(x), v.top, v.x(x), bottom]), grid);
  pen.segments([v.left, v.top, v.left, bottom, v.left, bottom, right, bottom], { colour: ink('rule-strong'), width: 1 });
  const size = { size: 13 };
  a.y.at.forEach((y, i) => {
    pen.text(v.left - 8, v.y(y) + 4.5, a.y.labels[i] ?? '', 'end', soft, size);
  });
  const row = ({ at, labels }: Ticks, below: number): void =>
    at.forEach((x, i) => {
      pen.text(v.x(x), bottom + below, labels[i] ?? '', 'middle', soft, size);
    });
  row(a.x, 18);
  if (a.clock) row(a.clock, 34);
  pen.text(v.left + v.width / 2, bottom + (a.clock ? 56 : 40), a.xLabel, 'middle', ink('ink'), { size: TEXT });
  pen.text(v.left - 52, v.top + v.height / 2, a.yLabel, 'middle', ink('ink'), { size: TEXT, turned: true });
}

/** A series, and how it is drawn, which uPlot does not tell. */
export type Trace = uPlot.Series & {
  drawn?: 'line' | 'steps' | 'bars';
  /** Longest span without a value that a line crosses. */
  bridged?: number;
};

function paint(p: unknown): string {
  const value = typeof p === 'function' ? (p as () => unknown)() : p;
  return typeof value === 'string' ? value : 'transparent';
}

type Column = readonly (number | null | undefined)[];

/** Draws columns of data, of which the first is x. */
export function traces(pen: SvgPen, v: View, data: readonly Column[], series: readonly Trace[], bands: readonly uPlot.Band[]): void {
  const at = (data[0] ?? []).map((x) => x ?? 0);
  const xs = at.map((x) => v.x(x));
  const ys = (k: number): (number | null)[] => at.map((_, i) => data[k]?.[i] ?? null).map((y) => (y === null ? null : v.y(y)));
  const bottom = v.top + v.height;
  for (const b of bands) band(pen, xs, ys(b.series[0]), ys(b.series[1]), paint(b.fill));
  series.forEach((s, k) => {
    const y = ys(k + 1);
    const fill = paint(s.fill);
    if (s.drawn === 'bars') {
      bars(pen, xs, y, bottom, fill);
      return;
    }
    if (fill !== 'transparent') band(pen, xs, y, y.map((q) => (q === null ? null : bottom)), fill);
    const colour = paint(s.stroke);
    const width = s.width ?? 1;
    if (colour === 'transparent' || width <= 0) return;
    const stroke = { colour, width, dash: s.dash ?? [] };
    const pixels = v.x(s.bridged ?? 0) - v.x(0);
    const bridged = (from: number, to: number): boolean => to - from <= pixels;
    if (s.drawn === 'steps') pen.line(...stepped(xs, y), stroke);
    else pen.line(xs, y, stroke, bridged);
  });
}

/** Holds each value until the next. */
function stepped(x: readonly number[], y: readonly (number | null)[]): [number[], (number | null)[]] {
  const [xs, ys]: [number[], (number | null)[]] = [[], []];
  y.forEach((v, i) => {
    xs.push(x[i] ?? 0, x[i + 1] ?? x[i] ?? 0);
    ys.push(v, v);
  });
  return [xs, ys];
}

function bars(pen: SvgPen, x: readonly number[], y: readonly (number | null)[], bottom: number, fill: string): void {
  const apart = x.length > 1 ? ((x.at(-1) ?? 0) - (x[0] ?? 0)) / (x.length - 1) : 12;
  const width = Math.min(12, Math.max(1, apart * 0.9));
  const drawn = y.map((top, i) => (top === null || top >= bottom ? '' : `M${((x[i] ?? 0) - width / 2).toFixed(1)} ${bottom.toFixed(1)}V${top.toFixed(1)}h${width.toFixed(1)}V${bottom.toFixed(1)}z`));
  pen.fill(drawn.join(''), fill);
}

/** Draws the area between two lines wherever both are known. */
function band(pen: SvgPen, x: readonly number[], upper: readonly (number | null)[], lower: readonly (number | null)[], fill: string): void {
  let d = '';
  let from = 0;
  for (let i = 0; i <= x.length; i += 1) {
    const known = i < x.length && upper[i] != null && lower[i] != null;
    if (known) continue;
    if (i - from > 1) {
      const there = range(from, i).map((k) => `${(x[k] ?? 0).toFixed(1)} ${(upper[k] ?? 0).toFixed(1)}`);
      const back = range(from, i).map((k) => `${(x[k] ?? 0).toFixed(1)} ${(lower[k] ?? 0).toFixed(1)}`);
      d += `M${[...there, ...back.reverse()].join('L')}Z`;
    }
    from = i + 1;
  }
  pen.fill(d, fill);
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}
