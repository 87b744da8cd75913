// SPDX-License-Identifier: Apache-2.0
// One channel of the recorder below the occupancy: a line (or a line with a
// band and a largest value) on the shared time axis.

import uPlot from 'uplot';
import { Plot } from './plot';
import { StickyMax } from './scale';
import { ink, type Ink } from './theme';

export interface StripOptions {
  label: string;
  factor: number;
  height: number;
  showX: boolean;
  /** Smallest range of the y axis, in stored units. */
  floor: number;
  /** Fixed upper end (utilisation), otherwise it follows the data. */
  fixedMax?: number;
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
  private readonly plot: Plot;
  private readonly sticky: StickyMax;
  private target: number | null = null;

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
      height: o.height,
      showX: o.showX,
      y: { label: o.label, factor: () => o.factor, wanted: 2 },
      yRange: () => [0, o.fixedMax ?? this.sticky.value],
      series,
      bands: o.lines === 3 ? [{ series: [2, 3], fill: () => ink('water-band') } as unknown as uPlot.Band] : [],
      ...(o.sync ? { sync: o.sync } : {}),
      ...(o.onSelect ? { onSelect: o.onSelect } : {}),
      ...(o.onCursor ? { onCursor: o.onCursor } : {}),
      draw: (u) => this.drawTarget(u),
    });
  }

  set(time: number[], lines: (number | null)[][], from: number, to: number, target: number | null = null): void {
    this.target = target;
    let needed = 0;
    for (const l of lines) for (const v of l) if (v !== null && v > needed) needed = v;
    this.sticky.update(needed * 1.1);
    this.plot.set([time, ...lines], from, to);
  }

  reset(): void {
    this.sticky.reset();
  }

  /** The operator's bound, as a fine dotted line. */
  private drawTarget(u: uPlot): void {
    if (this.target === null) return;
    const y = u.valToPos(this.target, 'y', true);
    if (y < u.bbox.top || y > u.bbox.top + u.bbox.height) return;
    const r = devicePixelRatio || 1;
    const c = u.ctx;
    c.save();
    c.strokeStyle = ink('advised');
    c.lineWidth = 1.25 * r;
    c.setLineDash([1.5 * r, 3 * r]);
    c.beginPath();
    c.moveTo(u.bbox.left, y);
    c.lineTo(u.bbox.left + u.bbox.width, y);
    c.stroke();
    c.restore();
  }
}
