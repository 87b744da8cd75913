// SPDX-License-Identifier: Apache-2.0
// Charts as files: the numbers as CSV, the picture as SVG.

import type uPlot from 'uplot';
import { type Pen, SvgPen, type View } from './pen';
import { ink } from './theme';

/** What can be saved. */
export interface Picture {
  readonly name: string;
  csv(): string;
  svg(): string;
  /** The picture as it stands, where it is on a canvas. */
  canvas?(): HTMLCanvasElement;
}

/** Rows within a range of the first column; with Unix time where it is known. */
export function csvOf(
  names: readonly string[],
  columns: readonly (readonly (number | null)[])[],
  range: readonly [number, number],
  unixMs: ((x: number) => number | null) | null,
): string {
  const x = columns[0] ?? [];
  const timed = unixMs !== null && unixMs(0) !== null;
  const lines = [[names[0] ?? 'x', ...(timed ? ['unix_ms'] : []), ...names.slice(1)].join(',')];
  for (let i = 0; i < x.length; i += 1) {
    const at = x[i] ?? 0;
    if (at < range[0] || at > range[1]) continue;
    const cells = names.slice(1).map((_, k) => columns[k + 1]?.[i] ?? '');
    lines.push([Number(at.toFixed(9)), ...(timed ? [(unixMs(at) ?? 0).toFixed(3)] : []), ...cells].join(','));
  }
  return `${lines.join('\n')}\n`;
}

interface AxisPicture {
  at: readonly number[];
  labels: readonly string[];
  label: string;
}

export interface SvgParts {
  name: string;
  width: number;
  height: number;
  view: View;
  u: uPlot;
  series: readonly uPlot.Series[];
  bands: readonly uPlot.Band[];
  x: AxisPicture;
  y: AxisPicture;
  draw: (pen: Pen, view: View) => void;
}

type Paint = string | (() => string) | undefined;

function paint(p: unknown): string {
  const value = typeof p === 'function' ? (p as () => string)() : (p as Paint);
  return typeof value === 'string' ? value : 'transparent';
}

/** A file of SVG, by the same places as on the screen. */
export function svgOf(p: SvgParts): string {
  const pen = new SvgPen();
  const v = p.view;
  const bottom = v.top + v.height;
  const soft = ink('ink-soft');
  for (const y of p.y.at) pen.segments([v.left, v.y(y), v.left + v.width, v.y(y)], { colour: ink('rule'), width: 1, dash: [2, 3] });
  for (const x of p.x.at) pen.segments([v.x(x), v.top, v.x(x), bottom], { colour: ink('rule'), width: 1, dash: [2, 3] });
  const inside = new SvgPen();
  const times = (p.u.data[0] ?? []) as readonly number[];
  const xs = times.map((t) => v.x(t));
  const ys = (k: number): (number | null)[] => ((p.u.data[k] ?? []) as readonly (number | null)[]).map((y) => (y === null || y === undefined ? null : v.y(y)));
  for (const b of p.bands) band(inside, xs, ys(b.series[0]), ys(b.series[1]), paint(b.fill));
  p.series.forEach((s, k) => {
    const y = ys(k + 1);
    const fill = paint(s.fill);
    if (fill !== 'transparent') band(inside, xs, y, y.map((q) => (q === null ? null : bottom)), fill);
    const colour = paint(s.stroke);
    if (colour !== 'transparent' && (s.width ?? 1) > 0) inside.line(xs, y, { colour, width: s.width ?? 1, dash: s.dash ?? [] });
  });
  p.draw(inside, v);
  const plot = `<rect x="${v.left}" y="${v.top}" width="${v.width}" height="${v.height}"/>`;
  pen.parts.push(`<clipPath id="plot">${plot}</clipPath><g clip-path="url(#plot)">${inside.parts.join('')}</g>`);
  p.y.at.forEach((y, i) => {
    pen.text(v.left - 8, v.y(y) + 4, p.y.labels[i] ?? '', 'end', soft);
  });
  p.x.at.forEach((x, i) => {
    const lines = (p.x.labels[i] ?? '').split('\n');
    lines.forEach((line, k) => {
      pen.text(v.x(x), bottom + 16 + 13 * k, line, 'middle', soft);
    });
  });
  pen.text(v.left + v.width / 2, bottom + 44, p.x.label, 'middle', soft);
  pen.text(12, v.top + v.height / 2, p.y.label, 'middle', soft, true);
  return pen.file(p.name, p.width, p.height);
}

/** The area between two lines, where both are known. */
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
