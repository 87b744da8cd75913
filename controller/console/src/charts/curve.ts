// SPDX-License-Identifier: Apache-2.0
// A predicted quantity over the size of the buffer, with the range that the
// uncertainty of the estimates leaves, the limit in force and the advised one.

import type { Pen, View } from './pen';
import type { XAxis } from './axis';
import { DASHED, type Sign } from './figure';
import { Plot, RANGED } from './plot';
import { niceStep } from './scale';
import { ink, type Ink } from './theme';

export interface CurveData {
  bytes: number[];
  value: number[];
  low: number[];
  high: number[];
  target: number | null;
  limit: number | null;
  advised: number | null;
  range: [number, number];
  /** A size in the unit shown. */
  size: (bytes: number) => string;
}

export class CurveChart {
  readonly plot: Plot;
  private data: CurveData | null = null;

  constructor(name: string, column: string, label: string, words: string, x: XAxis) {
    this.plot = new Plot({
      name,
      columns: [`${column}_high`, `${column}_low`, column],
      height: 132,
      showX: true,
      x,
      y: { label, words, factor: () => 100, wanted: 3 },
      signs: () => this.signs(),
      yRange: () => this.data?.range ?? [0, 1],
      ...RANGED,
      draw: (pen, view) => this.draw(pen, view),
    });
  }

  set(data: CurveData): void {
    this.data = data;
    this.plot.set([data.bytes, data.high, data.low, data.value], data.bytes[0] ?? 0, data.bytes.at(-1) ?? 1, { target: data.target });
  }

  private signs(): Sign[] {
    const d = this.data;
    const size = (bytes: number): string => ` (${d?.size(bytes) ?? ''})`;
    return [
      { words: 'predicted', look: 'line', colour: ink('water') },
      { words: 'range that the estimates leave', look: 'band', colour: ink('water-band') },
      ...(d && d.limit !== null ? [{ words: `limit in force${size(d.limit)}`, look: 'dashed', colour: ink('limit') } as const] : []),
      ...(d && d.advised !== null ? [{ words: `advised${size(d.advised)}`, look: 'line', colour: ink('advised') } as const] : []),
    ];
  }

  private draw(pen: Pen, v: View): void {
    const d = this.data;
    if (!d) return;
    const upright = (bytes: number, colour: Ink, dash: readonly number[]): void => {
      const x = v.x(bytes);
      if (x >= v.left && x <= v.left + v.width) pen.segments([x, v.top, x, v.top + v.height], { colour: ink(colour), width: 1.75, dash });
    };
    // Dashes are seen over a line, a line over dashes is all that is seen.
    if (d.advised !== null) upright(d.advised, 'advised', []);
    if (d.limit !== null) upright(d.limit, 'limit', DASHED);
  }
}

/** A round range around values, from 0 when `fromZero`; `at` is included. */
export function rangeOf(values: readonly number[], at: number | null, fromZero: boolean, most: number): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (const v of at === null ? values : [...values, at]) {
    if (v < low) low = v;
    if (v > high) high = v;
  }
  if (!Number.isFinite(low)) return [0, 1];
  if (fromZero) low = 0;
  const step = niceStep(Math.max(high - low, 1e-9) / 4);
  const bottom = Math.max(0, Math.floor(low / step) * step);
  return [bottom, Math.min(most, Math.ceil(high / step + 0.1) * step)];
}
