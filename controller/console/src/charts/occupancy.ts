// SPDX-License-Identifier: Apache-2.0
// Occupancy of the queue over time: p50, p99 and largest per interval as a
// water level, the limit as the mark above it, drops as ticks rising from the
// mark. Zoomed in far enough it shows every packet instead.

import uPlot from 'uplot';
import type { Packets } from '../model/types';
import { Plot } from './plot';
import { StickyMax } from './scale';
import { ink } from './theme';

export interface OccupancyData {
  time: number[];
  p50: (number | null)[];
  p99: (number | null)[];
  max: (number | null)[];
  limit: (number | null)[];
  drops: (number | null)[];
  from: number;
  to: number;
  advised: number | null;
  packets: Packets | null;
}

export interface OccupancyOptions {
  factor: () => number;
  unitLabel: () => string;
  onSelect: (from: number, to: number) => void;
  onCursor: (index: number | null) => void;
  /** The y range or the plot's place changed: whoever shares the axis follows. */
  onScale: (maxBytes: number, top: number, height: number) => void;
}

const HEIGHT = 312;

function largest(values: readonly (number | null)[]): number {
  let m = 0;
  for (const v of values) if (v !== null && v > m) m = v;
  return m;
}

export class OccupancyChart {
  private readonly plot: Plot;
  private readonly sticky = new StickyMax(3000);
  private data: OccupancyData | null = null;
  private readonly axis;

  constructor(element: HTMLElement, private readonly options: OccupancyOptions) {
    this.axis = { label: `occupancy, ${options.unitLabel()}`, factor: options.factor, wanted: 5 };
    this.plot = new Plot(element, {
      height: HEIGHT,
      showX: false,
      y: this.axis,
      yRange: () => [0, this.sticky.value],
      sync: 'recorder',
      onSelect: options.onSelect,
      onCursor: options.onCursor,
      series: [
        { stroke: () => ink('water-faint'), width: 1, points: { show: false } },
        { stroke: 'transparent', width: 0, points: { show: false } },
        { stroke: () => ink('water'), width: 1.75, fill: () => ink('water-band'), points: { show: false } },
        {
          stroke: () => ink('limit'),
          width: 1.75,
          dash: [7, 4],
          points: { show: false },
          ...(uPlot.paths.stepped ? { paths: uPlot.paths.stepped({ align: 1 }) } : {}),
        },
      ],
      bands: [{ series: [2, 3], fill: () => ink('water-band') } as unknown as uPlot.Band],
      draw: (u) => this.draw(u),
      onLayout: (u) => this.layout(u),
    });
  }

  set(data: OccupancyData): void {
    this.data = data;
    const top = Math.max(largest(data.max), largest(data.limit), data.advised ?? 0, largest(data.packets?.occupancy ?? []));
    this.sticky.update(top * 1.12);
    const blank = data.time.map(() => null);
    const hide = data.packets !== null;
    this.plot.set(
      [data.time, hide ? blank : data.max, hide ? blank : data.p99, hide ? blank : data.p50, data.limit],
      data.from,
      data.to,
    );
    this.layout(this.plot.u);
  }

  /** Another port or unit: forget the axis. */
  reset(): void {
    this.sticky.reset();
    this.relabel();
  }

  relabel(): void {
    const axis = this.plot.u.axes[1];
    if (axis) axis.label = `occupancy, ${this.options.unitLabel()}`;
    this.plot.redraw();
  }

  private layout(u: uPlot): void {
    const r = devicePixelRatio || 1;
    this.options.onScale(this.sticky.value, u.bbox.top / r, u.bbox.height / r);
  }

  private draw(u: uPlot): void {
    const d = this.data;
    if (!d) return;
    const c = u.ctx;
    const r = devicePixelRatio || 1;
    c.save();
    c.setLineDash([]);
    c.beginPath();
    c.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    c.clip();
    if (d.packets) this.drawPackets(u, c, r, d.packets);
    else this.drawDrops(u, c, r, d);
    c.restore();
  }

  /** One tick per interval with drops; longer for more of them. */
  private drawDrops(u: uPlot, c: CanvasRenderingContext2D, r: number, d: OccupancyData): void {
    c.strokeStyle = ink('drop');
    c.lineWidth = 1.5 * r;
    c.beginPath();
    for (let i = 0; i < d.time.length; i += 1) {
      const n = d.drops[i] ?? 0;
      if (!n) continue;
      const x = u.valToPos(d.time[i] ?? 0, 'x', true);
      const base = u.valToPos(d.limit[i] ?? d.max[i] ?? 0, 'y', true) - 2 * r;
      c.moveTo(x, base);
      c.lineTo(x, base - (5 + 4 * Math.log2(1 + n)) * r);
    }
    c.stroke();
  }

  private drawPackets(u: uPlot, c: CanvasRenderingContext2D, r: number, p: Packets): void {
    c.fillStyle = ink('water');
    const size = (p.time.length > 4000 ? 1.5 : 2.5) * r;
    for (let i = 0; i < p.time.length; i += 1) {
      if (p.dropped[i]) continue;
      c.fillRect(u.valToPos(p.time[i] ?? 0, 'x', true) - size / 2, u.valToPos(p.occupancy[i] ?? 0, 'y', true) - size / 2, size, size);
    }
    c.strokeStyle = ink('drop');
    c.lineWidth = 1.5 * r;
    c.beginPath();
    for (let i = 0; i < p.time.length; i += 1) {
      if (!p.dropped[i]) continue;
      const x = u.valToPos(p.time[i] ?? 0, 'x', true);
      const y = u.valToPos(p.occupancy[i] ?? 0, 'y', true);
      const a = 3.5 * r;
      c.moveTo(x - a, y - a);
      c.lineTo(x + a, y + a);
      c.moveTo(x - a, y + a);
      c.lineTo(x + a, y - a);
    }
    c.stroke();
  }
}
