// SPDX-License-Identifier: Apache-2.0
// One channel of the recorder below the occupancy: a line (or a line with a
// band and a largest value) on the shared time axis.

import uPlot from 'uplot';
import type { Pen, View } from './pen';
import { Plot } from './plot';
import { StickyMax } from './scale';
import { ink, type Ink } from './theme';

export interface StripOptions {
  name: string;
  columns: string[];
  label: string;
  factor: number;
  height: number;
  showX: boolean;
  /** Smallest range of the y axis, in stored units. */
  floor: number;
  /** Fixed range (utilisation), otherwise it follows the data from 0. */
  range?: (smallest: number) => [number, number];
  colour: Ink;
  /** Names of what `set` gets: the last series is drawn as the main line. */
  lines: number;
  /** `bars` for values that belong to single intervals. */
  bars?: boolean;
  sync?: string;
  onSelect?: (from: number, to: number) => void;
  onCursor?: (index: number | null) => void;
}

export class Strip {
  readonly plot: Plot;
  private readonly sticky: StickyMax;
  private target: number | null = null;
  private smallest = 0;

  constructor(element: HTMLElement, private readonly options: StripOptions) {
    const o = this.options;
    this.sticky = new StickyMax(o.floor);
    const series: uPlot.Series[] = [];
    for (let i = 0; i < o.lines; i += 1) {
      const main = i === o.lines - 1;
      series.push({
        stroke: () => (main ? ink(o.colour) : i === 0 ? ink('water-faint') : 'transparent'),
        width: main ? 1.5 : i === 0 ? 1 : 0,
        points: { show: false },
        ...(o.bars && uPlot.paths.bars ? { fill: () => ink(o.colour), width: 0, paths: uPlot.paths.bars({ size: [1, 12, 1] }) } : {}),
      } as uPlot.Series);
    }
    this.plot = new Plot(element, {
      name: o.name,
      columns: o.columns,
      height: o.height,
      showX: o.showX,
      y: { label: o.label, factor: () => o.factor, wanted: 2 },
      yRange: () => o.range?.(this.smallest) ?? [0, this.sticky.value],
      series,
      bands: o.lines === 3 ? [{ series: [2, 3], fill: () => ink('water-band') } as unknown as uPlot.Band] : [],
      ...(o.sync ? { sync: o.sync } : {}),
      ...(o.onSelect ? { onSelect: o.onSelect } : {}),
      ...(o.onCursor ? { onCursor: o.onCursor } : {}),
      draw: (pen, view) => this.drawTarget(pen, view),
    });
  }

  set(time: number[], lines: (number | null)[][], from: number, to: number, target: number | null = null): void {
    this.target = target;
    let needed = 0;
    for (const l of lines) for (const v of l) if (v !== null && v > needed) needed = v;
    this.sticky.update(needed * 1.1);
    this.smallest = smallestWithin(time, lines[0] ?? [], from, to);
    this.plot.set([time, ...lines], from, to);
  }

  reset(): void {
    this.sticky.reset();
  }

  /** The operator's bound, as a fine dotted line. */
  private drawTarget(pen: Pen, v: View): void {
    if (this.target === null) return;
    const y = v.y(this.target);
    if (y < v.top || y > v.top + v.height) return;
    pen.segments([v.left, y, v.left + v.width, y], { colour: ink('advised'), width: 1.25, dash: [1.5, 3] });
  }
}

function smallestWithin(time: readonly number[], values: readonly (number | null)[], from: number, to: number): number {
  let least = Infinity;
  time.forEach((t, i) => {
    const v = values[i];
    if (v != null && t >= from && t <= to && v < least) least = v;
  });
  return Number.isFinite(least) ? least : 0;
}
