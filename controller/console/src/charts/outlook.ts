// SPDX-License-Identifier: Apache-2.0
// Utilisation, loss and delay over the limit: what is expected with its range,
// what was measured, the targets, the limit in force and the advised ones. The
// limit stands on a logarithmic axis.

import { h } from '../dom';
import { outcomeAt } from '../model/outlook';
import type { Interval, Prediction, Targets, Verdict } from '../model/types';
import { figure } from './figure';
import { SvgPen } from './pen';
import type { Picture } from './picture';
import { decimalsFor, ticks } from './scale';
import { type Ink, ink, onTheme } from './theme';

export interface OutlookData {
  verdict: Verdict;
  targets: Targets | null;
  /** Limits shown, bytes. */
  limits: readonly [number, number];
  /** Unit of limits: value per byte, name, and a size in words. */
  factor: number;
  unit: string;
  size: (bytes: number) => string;
}

/** Place of the limits in the picture, CSS pixels. */
export interface Frame {
  left: number;
  width: number;
  top: number;
  height: number;
}

interface Row {
  name: string;
  label: string;
  /** Shown value per stored value. */
  factor: number;
  expected: (p: Prediction) => Interval | null;
  /** A second line: a bound of the first. */
  largest?: (p: Prediction) => Interval | null;
  target: (t: Targets) => number | null;
  measured: (m: Verdict['measured'][number]) => Interval | null;
  /** Wanted high: the axis ends at 1. */
  share?: boolean;
}

const point = (v: number | null): Interval | null => (v === null ? null : { value: v, low: v, high: v });

const ROWS: readonly Row[] = [
  { name: 'utilisation', label: 'util., %', factor: 100, expected: (p) => p.utilisation, target: (t) => t.utilisation, measured: (m) => m.utilisation, share: true },
  { name: 'loss_rate', label: 'loss, %', factor: 100, expected: (p) => p.lossRate, target: (t) => t.lossRate, measured: (m) => m.lossRate },
  { name: 'delay_ms', label: 'delay, ms', factor: 1, expected: (p) => p.delayMeanMs, largest: (p) => p.delayMs, target: (t) => t.delayMs, measured: (m) => point(m.delayMeanMs) },
];

const LEFT = 58;
const RIGHT = 12;
/** Room for the names of the upright lines. */
const TOP = 20;
const GAP = 10;
/** Height of a quantity where there is room. */
const TALL = 96;
/** Room below for the axis. */
const AXIS = 40;
const LEGEND_LINE = 18;
/** Points drawn of a curve. */
const POINTS = 80;
/** Beyond so many times its target a value is off the axis: the rest would be flat. */
const MOST = 3;
/** CSS pixels of a letter of the legend, about. */
const LETTER = 6.3;

const KEYS: readonly [string, Ink, 'line' | 'dashed' | 'dotted' | 'area' | 'dot'][] = [
  ['expected, with its range', 'water', 'line'],
  ['measured', 'ink', 'dot'],
  ['target', 'advised', 'dotted'],
  ['limits that serve', 'advised', 'area'],
];

const LOOKS = { line: 'line', dashed: 'dashed', dotted: 'dotted', area: 'band', dot: 'dots' } as const;

export class OutlookChart implements Picture {
  readonly name = 'Expected over the limit';
  readonly element = h('div', { class: 'outlook-picture', 'aria-hidden': 'true' });
  private data: OutlookData | null = null;
  private width = 640;
  private drawn = '';

  constructor(private readonly onFrame: (f: Frame) => void) {
    new ResizeObserver(() => {
      const w = this.element.clientWidth;
      if (w < 120 || w === this.width) return;
      this.width = w;
      this.render();
    }).observe(this.element);
    onTheme(() => this.render());
  }

  set(data: OutlookData): void {
    this.data = data;
    this.render();
  }

  private get rowHeight(): number {
    return this.width < 480 ? 60 : TALL;
  }

  private get frame(): Frame {
    return { left: LEFT, width: this.width - LEFT - RIGHT, top: TOP, height: ROWS.length * (this.rowHeight + GAP) - GAP };
  }

  empty(): boolean {
    return this.data === null || this.data.verdict.curve.length === 0;
  }

  private render(): void {
    const drawn = this.page();
    this.onFrame(this.frame);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    // The pen escapes its texts, and no script of a parsed document runs.
    this.element.replaceChildren(new DOMParser().parseFromString(drawn, 'image/svg+xml').documentElement);
  }

  /** As it leaves the page. */
  svg(): string {
    const height = ROWS.length * (TALL + GAP) - GAP;
    return figure({
      name: this.name,
      signs: KEYS.map(([words, colour, look]) => ({ words, colour: ink(colour), look: LOOKS[look] })),
      span: null,
      height: TOP + height + AXIS,
      draw: (pen, box) => this.draw(pen, { left: box.left + LEFT, width: box.width - LEFT - RIGHT, top: box.top + TOP, height }, TALL),
    });
  }

  private draw(pen: SvgPen, f: Frame, rowHeight: number): void {
    if (!this.data) return;
    const d = this.data;
    const x = (bytes: number): number => f.left + f.width * part(d.limits, bytes);
    advisedArea(pen, d, x, f);
    ROWS.forEach((row, i) => {
      drawRow(pen, row, d, x, { ...f, top: f.top + i * (rowHeight + GAP), height: rowHeight });
    });
    uprights(pen, d, x, f);
    limitAxis(pen, d, x, f);
  }

  private page(): string {
    const pen = new SvgPen();
    const f = this.frame;
    const bottom = f.top + f.height;
    const lines = legend(this.width - LEFT);
    this.draw(pen, f, this.rowHeight);
    lines.forEach((line, k) => {
      for (const key of line) drawKey(pen, key, LEFT + key.at, bottom + AXIS + 10 + k * LEGEND_LINE);
    });
    return pen.file(this.name, '', this.width, bottom + AXIS + 4 + lines.length * LEGEND_LINE);
  }

  csv(): string {
    const names = ['utilisation', 'loss_rate', 'delay_ms', 'delay_mean_ms'].flatMap((n) => [n, `${n}_low`, `${n}_high`]);
    const cells = (i: Interval | null): (number | string)[] => (i ? [i.value, i.low, i.high] : ['', '', '']);
    const rows = (this.data?.verdict.curve ?? []).map(({ bufferBytes, predicted: p }) =>
      [bufferBytes, ...cells(p.utilisation), ...cells(p.lossRate), ...cells(p.delayMs), ...cells(p.delayMeanMs)].join(','),
    );
    return `${[['limit_bytes', ...names].join(','), ...rows].join('\n')}\n`;
  }
}

/** Place of a limit between two, 0 to 1; outside for others. */
export function part([low, high]: readonly [number, number], bytes: number): number {
  return Math.log(bytes / low) / Math.log(high / low);
}

/** The limit at a place. */
export function limitAt([low, high]: readonly [number, number], at: number): number {
  return low * (high / low) ** at;
}

/** The axis of a row: round, with the target, what was measured, and what is expected, within reason. */
function rangeOf(row: Row, d: OutlookData, expected: readonly (Interval | null)[]): [number, number] {
  const target = d.targets ? row.target(d.targets) : null;
  const measured = d.verdict.measured.map(row.measured);
  const seen = [...measured.flatMap((m) => (m ? [m.low, m.high] : [])), ...(target === null ? [] : [target])];
  const all = [...expected.flatMap((e) => (e ? [e.low, e.high] : [])), ...seen];
  if (all.length === 0) return [0, 1];
  if (row.share) {
    const least = Math.max(Math.min(...all), target === null ? 0 : 1 - 2 * MOST * (1 - target));
    const low = Math.max(0, Math.min(least, ...seen, 0.99));
    return [low - 0.02 * (1 - low), 1 + 0.06 * (1 - low)];
  }
  const most = Math.min(Math.max(...all), target === null ? Infinity : MOST * target);
  return [0, 1.08 * Math.max(most, ...seen, 1e-9)];
}

function drawRow(pen: SvgPen, row: Row, d: OutlookData, x: (bytes: number) => number, f: Frame): void {
  const at = Array.from({ length: POINTS + 1 }, (_, i) => limitAt(d.limits, i / POINTS));
  const outcomes = at.map((b) => outcomeAt(d.verdict.curve, b));
  const expected = outcomes.map((o) => (o ? row.expected(o) : null));
  const largest = outcomes.map((o) => (o && row.largest ? row.largest(o) : null));
  const [low, high] = rangeOf(row, d, [...expected, ...largest]);
  const y = (v: number): number => f.top + f.height * (1 - (v - low) / (high - low));
  const soft = ink('ink-soft');
  const bottom = f.top + f.height;
  const right = f.left + f.width;
  const shown = ticks(low * row.factor, high * row.factor, f.height < 80 ? 2 : 4);
  const decimals = decimalsFor(Number(((shown[1] ?? 1) - (shown[0] ?? 0)).toPrecision(6)));
  for (const t of shown) {
    const at = y(t / row.factor);
    pen.segments([f.left, at, right, at], { colour: ink('rule'), width: 1 });
    pen.text(f.left - 6, at + 4, t.toFixed(decimals), 'end', soft);
  }
  pen.text(11, f.top + f.height / 2, row.label, 'middle', soft, { turned: true });
  // Lines end at the edge of the axis.
  const inside = new SvgPen();
  band(inside, at.map(x), expected, y);
  const values = (all: readonly (Interval | null)[]): (number | null)[] => all.map((e) => (e ? y(e.value) : null));
  inside.line(at.map(x), values(largest), { colour: ink('water'), width: 1, dash: [5, 3] });
  inside.line(at.map(x), values(expected), { colour: ink('water'), width: 2 });
  const target = d.targets ? row.target(d.targets) : null;
  if (target !== null) inside.segments([f.left, y(target), right, y(target)], { colour: ink('advised'), width: 1.5, dash: [1.5, 3] });
  const clip = `outlook-${row.name.replace('_', '-')}`;
  pen.parts.push(`<clipPath id="${clip}"><rect x="${f.left}" y="${f.top}" width="${f.width}" height="${f.height}"/></clipPath><g clip-path="url(#${clip})">${inside.parts.join('')}</g>`);
  pen.segments([f.left, f.top, f.left, bottom, f.left, bottom, right, bottom], { colour: ink('rule-strong'), width: 1 });
  for (const m of d.verdict.measured) {
    const v = row.measured(m);
    if (!v || m.limitBytes < d.limits[0] || m.limitBytes > d.limits[1]) continue;
    const at = x(m.limitBytes);
    const bar = [v.low, v.high].map((e) => Math.min(bottom, Math.max(f.top, y(e))));
    const [from = 0, to = 0] = bar;
    pen.segments([at, from, at, to, at - 4, from, at + 4, from, at - 4, to, at + 4, to], { colour: ink('ink'), width: 1.5 });
    pen.dots([at, y(v.value)], 7, ink('ink'));
  }
  // The two lines of a row say which is which.
  if (row.largest) {
    const k = POINTS - 4;
    const name = (e: Interval | null | undefined, words: string, below: number): void => {
      if (e) pen.text(x(at[k] ?? 1), Math.min(bottom - 4, Math.max(f.top + 11, y(e.value) + below)), words, 'end', soft);
    };
    name(largest[k], 'largest', -6);
    name(expected[k], 'mean', 20);
  }
}

function band(pen: SvgPen, x: readonly number[], range: readonly (Interval | null)[], y: (v: number) => number): void {
  const known = range.flatMap((e, i) => (e ? [{ x: x[i] ?? 0, low: y(e.low), high: y(e.high) }] : []));
  if (known.length < 2) return;
  const place = (px: number, py: number): string => `${px.toFixed(1)} ${py.toFixed(1)}`;
  const path = [...known.map((k) => place(k.x, k.high)), ...known.reverse().map((k) => place(k.x, k.low))];
  pen.fill(`M${path.join('L')}Z`, ink('water-band'));
}

/** The limits that serve, behind all rows. */
function advisedArea(pen: SvgPen, d: OutlookData, x: (bytes: number) => number, f: Frame): void {
  const { lowBytes, highBytes } = d.verdict;
  if (lowBytes === null || highBytes === null) return;
  const [from, to] = [lowBytes, highBytes].map((b) => Math.min(f.left + f.width, Math.max(f.left, x(b)))) as [number, number];
  pen.fill(`M${from.toFixed(1)} ${f.top}H${to.toFixed(1)}V${f.top + f.height}H${from.toFixed(1)}Z`, ink('advised'), 0.1);
}

/** The limit in force and the one to set, through all rows, with their names. */
function uprights(pen: SvgPen, d: OutlookData, x: (bytes: number) => number, f: Frame): void {
  const { inForceBytes, setBytes } = d.verdict;
  const same = inForceBytes !== null && setBytes !== null && Math.abs(x(inForceBytes) - x(setBytes)) < 2;
  const lines = [
    { bytes: same ? null : setBytes, colour: 'advised', name: 'set', dash: [] },
    { bytes: inForceBytes, colour: 'limit', name: same ? 'in force, keep' : 'in force', dash: [7, 4] },
  ] as const;
  const middle = inForceBytes !== null && setBytes !== null && !same ? (x(inForceBytes) + x(setBytes)) / 2 : null;
  for (const { bytes, colour, name, dash } of lines) {
    if (bytes === null || bytes < d.limits[0] || bytes > d.limits[1]) continue;
    const at = x(bytes);
    pen.segments([at, f.top - 2, at, f.top + f.height], { colour: ink(colour), width: 1.75, dash });
    const words = `${name} ${d.size(bytes)}`;
    const half = (words.length * LETTER) / 2;
    // Two names side by side go apart from one another, and stay in the picture.
    const close = middle !== null && Math.abs(at - middle) < 60;
    const side = !close ? 0 : at < (middle ?? 0) ? -half : half;
    const centre = Math.min(f.left + f.width - half, Math.max(f.left + half, at + side));
    pen.text(centre, 12, words, 'middle', ink(colour));
  }
}

const STEPS: readonly (readonly number[])[] = [[1, 1.5, 2, 3, 4, 5, 6, 8], [1, 1.5, 2, 3, 5, 7], [1, 2, 3, 5], [1, 2, 5], [1, 3], [1]];

/** Round limits on the logarithmic axis, as many as have room. */
export function limitTicks(low: number, high: number, width: number): number[] {
  for (const steps of STEPS) {
    const shown: number[] = [];
    for (let k = Math.floor(Math.log10(low)); k <= Math.ceil(Math.log10(high)); k += 1) {
      for (const s of steps) if (s * 10 ** k >= low && s * 10 ** k <= high) shown.push(Number((s * 10 ** k).toPrecision(2)));
    }
    const at = shown.map((t) => width * part([low, high], t));
    if (at.every((a, i) => i === 0 || a - (at[i - 1] ?? 0) >= 40)) return shown;
  }
  return [];
}

function limitAxis(pen: SvgPen, d: OutlookData, x: (bytes: number) => number, f: Frame): void {
  const bottom = f.top + f.height;
  const soft = ink('ink-soft');
  for (const t of limitTicks(d.limits[0] * d.factor, d.limits[1] * d.factor, f.width)) {
    const at = x(t / d.factor);
    pen.segments([at, bottom, at, bottom + 4], { colour: ink('rule-strong'), width: 1 });
    pen.text(at, bottom + 17, String(t), 'middle', soft);
  }
  pen.text(f.left + f.width / 2, bottom + 34, `limit, ${d.unit}`, 'middle', soft);
}

type Key = { words: string; colour: Ink; kind: string; at: number };

/** The keys in lines that fit. */
function legend(width: number): Key[][] {
  const lines: Key[][] = [[]];
  let at = 0;
  for (const [words, colour, kind] of KEYS) {
    const length = 28 + words.length * LETTER + 14;
    if (at > 0 && at + length > width) {
      lines.push([]);
      at = 0;
    }
    lines.at(-1)?.push({ words, colour, kind, at });
    at += length;
  }
  return lines;
}

function drawKey(pen: SvgPen, { words, colour, kind }: Key, x: number, y: number): void {
  const middle = y - 4;
  if (kind === 'area') pen.fill(`M${x} ${middle - 5}h20v10h-20z`, ink(colour), 0.2);
  else if (kind === 'dot') {
    pen.segments([x + 10, middle - 6, x + 10, middle + 6], { colour: ink(colour), width: 1.5 });
    pen.dots([x + 10, middle], 7, ink(colour));
  } else {
    if (kind === 'line') pen.fill(`M${x} ${middle - 5}h20v10h-20z`, ink('water-band'));
    pen.segments([x, middle, x + 20, middle], { colour: ink(colour), width: kind === 'line' ? 2 : 1.5, dash: kind === 'dotted' ? [1.5, 3] : [] });
  }
  pen.text(x + 26, y, words, 'start', ink('ink-soft'));
}
