// SPDX-License-Identifier: Apache-2.0
// A predicted quantity over the size of the buffer, with the range that the
// uncertainty of the estimates leaves, the limit in force and the advised one.

import type uPlot from 'uplot';
import { Plot, type XAxis } from './plot';
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
  private readonly plot: Plot;
  private data: CurveData | null = null;

  constructor(element: HTMLElement, label: string, factor: number, x: XAxis) {
    const hidden: uPlot.Series = { stroke: 'transparent', width: 0, points: { show: false } };
    this.plot = new Plot(element, {
      height: 132,
      showX: true,
      x,
      y: { label, factor: () => factor, wanted: 3 },
      yRange: () => this.data?.range ?? [0, 1],
      series: [hidden, hidden, { stroke: () => ink('water'), width: 1.75, points: { show: false } }],
      bands: [{ series: [1, 2], fill: () => ink('water-band') } as unknown as uPlot.Band],
      draw: (u) => this.draw(u),
    });
  }

  set(data: CurveData): void {
    this.data = data;
    this.plot.set([data.bytes, data.high, data.low, data.value], data.bytes[0] ?? 0, data.bytes.at(-1) ?? 1);
  }

  relabel(label: string): void {
    const axis = this.plot.u.axes[0];
    if (axis) axis.label = label;
    this.plot.redraw();
  }

  private draw(u: uPlot): void {
    const d = this.data;
    if (!d) return;
    const c = u.ctx;
    const r = devicePixelRatio || 1;
    const { left, top, width, height } = u.bbox;
    const line = (x1: number, y1: number, x2: number, y2: number, colour: Ink, dash: number[], w: number): void => {
      c.strokeStyle = ink(colour);
      c.lineWidth = w * r;
      c.setLineDash(dash.map((v) => v * r));
      c.beginPath();
      c.moveTo(x1, y1);
      c.lineTo(x2, y2);
      c.stroke();
    };
    const inside = (x: number): boolean => x >= left && x <= left + width;
    c.save();
    if (d.limit !== null) {
      const x = u.valToPos(d.limit, 'x', true);
      if (inside(x)) line(x, top, x, top + height, 'limit', [7, 4], 1.75);
    }
    if (d.advised !== null) {
      const x = u.valToPos(d.advised, 'x', true);
      if (inside(x)) line(x, top, x, top + height, 'advised', [], 1.75);
    }
    if (d.target !== null) {
      const y = u.valToPos(d.target, 'y', true);
      if (y >= top && y <= top + height) line(left, y, left + width, y, 'advised', [1.5, 3], 1.25);
    }
    c.restore();
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
