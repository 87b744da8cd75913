// SPDX-License-Identifier: Apache-2.0
// A predicted quantity over the size of the buffer, with the range that the
// uncertainty of the estimates leaves, the limit in force and the advised one.

import type { Pen, View } from './pen';
import type { XAxis } from './axis';
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
}

export class CurveChart {
  readonly plot: Plot;
  private data: CurveData | null = null;

  constructor(name: string, column: string, label: string, x: XAxis) {
    this.plot = new Plot({
      name,
      columns: [`${column}_high`, `${column}_low`, column],
      height: 132,
      showX: true,
      x,
      y: { label, factor: () => 100, wanted: 3 },
      yRange: () => this.data?.range ?? [0, 1],
      ...RANGED,
      draw: (pen, view) => this.draw(pen, view),
    });
  }

  set(data: CurveData): void {
    this.data = data;
    this.plot.set([data.bytes, data.high, data.low, data.value], data.bytes[0] ?? 0, data.bytes.at(-1) ?? 1, { target: data.target });
  }

  private draw(pen: Pen, v: View): void {
    const d = this.data;
    if (!d) return;
    const upright = (bytes: number, colour: Ink, dash: number[]): void => {
      const x = v.x(bytes);
      if (x >= v.left && x <= v.left + v.width) pen.segments([x, v.top, x, v.top + v.height], { colour: ink(colour), width: 1.75, dash });
    };
    if (d.limit !== null) upright(d.limit, 'limit', [7, 4]);
    if (d.advised !== null) upright(d.advised, 'advised', []);
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
