// SPDX-License-Identifier: Apache-2.0
// Occupancy of the queue over time: p50, p99 and maximum per interval as a water level, the limit
// as a mark above it, drops as ticks that rise from the mark. Zoomed in far enough, it shows every
// packet instead.

import uPlot from 'uplot';
import type { Packets } from '../model/types';
import { nearest, neighbours } from '../model/packets';
import type { Pen, View } from './pen';
import { DASHED, type Sign } from './figure';
import { band, HIDDEN, line, Plot } from './plot';
import { largest } from './scale';
import { levels } from './strip';
import { flowInk, ink } from './theme';

export interface OccupancyData {
  time: number[];
  p50: (number | null)[];
  p99: (number | null)[];
  max: (number | null)[];
  limit: (number | null)[];
  drops: (number | null)[];
  from: number;
  to: number;
  packets: Packets | null;
  /** Colour number of each flow. */
  colours: ReadonlyMap<string, number>;
  /** Returns the name of a flow. */
  flowName: (id: string) => string;
}

export interface OccupancyOptions {
  factor: () => number;
  unitLabel: () => string;
  onSelect: (from: number, to: number) => void;
  onCursor: (index: number | null) => void;
  /** Called when another packet is under the pointer; null if there is none. */
  onPacket: (index: number | null) => void;
  onScale: (maxBytes: number, top: number, height: number) => void;
}

const HEIGHT = 312;
/** Distance at which the pointer means a packet, CSS pixels. */
const REACH = 18;

/** Returns the signs for the colours of the flows, and for drops and marks. */
function packetSigns(p: Packets, colours: ReadonlyMap<string, number>, name: (id: string) => string): Sign[] {
  const there = new Set(Array.from(p.flow, String));
  const named = [...colours].filter(([id]) => there.has(id)).map(([id, colour]): Sign => ({ words: name(id), look: 'dots', colour: flowInk(colour) }));
  const others: Sign[] = there.size > named.length ? [{ words: 'other flows', look: 'dots', colour: flowInk(undefined) }] : [];
  const dropped: Sign[] = p.dropped.some((d) => d > 0) ? [{ words: 'dropped', look: 'cross', colour: ink('drop') }] : [];
  const marked: Sign[] = p.ce.some((c) => c > 0) ? [{ words: 'marked CE', look: 'ring', colour: ink('limit') }] : [];
  return [...named, ...others, ...dropped, ...marked];
}

export class OccupancyChart {
  readonly plot: Plot;
  private data: OccupancyData | null = null;
  private pointed: number | null = null;

  constructor(private readonly options: OccupancyOptions) {
    this.plot = new Plot({
      name: 'Queue occupancy',
      height: HEIGHT,
      showX: false,
      y: { label: this.label(), factor: options.factor, wanted: 5 },
      floor: 3000,
      headroom: 1.12,
      sync: 'recorder',
      onSelect: options.onSelect,
      onCursor: options.onCursor,
      onPointer: (at) => this.point(at),
      signs: () => this.signs(),
      columns: ['occupancy_max_bytes', 'occupancy_p99_bytes', 'occupancy_p50_bytes', 'limit_bytes'],
      csv: () => this.csv(),
      series: [
        line('water-faint', 1),
        HIDDEN,
        line('water', 1.75, { fill: () => ink('water-band') }),
        line('limit', 1.75, { drawn: 'steps', dash: DASHED, ...(uPlot.paths.stepped ? { paths: uPlot.paths.stepped({ align: 1 }) } : {}) }),
      ],
      bands: [band(2, 3)],
      draw: (pen, view) => this.draw(pen, view),
      onScale: options.onScale,
    });
    this.plot.element.classList.add('plot-occupancy');
  }

  set(data: OccupancyData): void {
    if (data.packets !== this.data?.packets) this.showPacket(null);
    this.data = data;
    const blank = data.time.map(() => null);
    const hide = data.packets !== null;
    this.plot.set(
      [data.time, hide ? blank : data.max, hide ? blank : data.p99, hide ? blank : data.p50, data.limit],
      data.from,
      data.to,
      { most: largest(data.max, data.limit, data.packets?.occupancy ?? []) },
    );
  }

  /** Forgets the axis, for another port or unit. */
  reset(): void {
    this.plot.reset();
    this.relabel();
  }

  relabel(): void {
    this.plot.relabel(1, this.label());
  }

  private label(): string {
    return `occupancy, ${this.options.unitLabel()}`;
  }

  private signs(): Sign[] {
    const limit: Sign = { words: 'limit', look: 'dashed', colour: ink('limit') };
    const d = this.data;
    if (!d?.packets) return [...levels(), limit, { words: 'drops (longer: more of them)', look: 'ticks', colour: ink('drop') }];
    return [...packetSigns(d.packets, d.colours, d.flowName), limit];
  }

  private draw(pen: Pen, v: View): void {
    const d = this.data;
    if (!d) return;
    if (d.packets) this.drawPackets(pen, v, d.packets, d.colours);
    else this.drawDrops(pen, v, d);
  }

  /** Draws one tick per interval with drops, longer for more drops. */
  private drawDrops(pen: Pen, v: View, d: OccupancyData): void {
    const ticks: number[] = [];
    for (let i = 0; i < d.time.length; i += 1) {
      const n = d.drops[i] ?? 0;
      if (!n) continue;
      const x = v.x(d.time[i] ?? 0);
      const base = v.y(d.limit[i] ?? d.max[i] ?? 0) - 2;
      ticks.push(x, base, x, base - 5 - 4 * Math.log2(1 + n));
    }
    pen.segments(ticks, { colour: ink('drop'), width: 1.5 });
  }

  /** Draws a dot per packet in the colour of its flow, a ring if it was marked, a cross if it was dropped. */
  private drawPackets(pen: Pen, v: View, p: Packets, colours: ReadonlyMap<string, number>): void {
    const byColour = new Map<number | undefined, number[]>();
    const crosses: number[] = [];
    const size = p.time.length > 4000 ? 1.75 : 3;
    for (let i = 0; i < p.time.length; i += 1) {
      const [x, y] = [v.x(p.time[i] ?? 0), v.y(p.occupancy[i] ?? 0)];
      if (p.dropped[i]) {
        crosses.push(x - 3.5, y - 3.5, x + 3.5, y + 3.5, x - 3.5, y + 3.5, x + 3.5, y - 3.5);
        continue;
      }
      const colour = colours.get(String(p.flow[i] ?? ''));
      const points = byColour.get(colour) ?? [];
      if (points.length === 0) byColour.set(colour, points);
      points.push(x, y);
      if (p.ce[i]) pen.ring(x, y, 3.5, { colour: ink('limit'), width: 1.25 });
    }
    for (const [colour, points] of byColour) pen.dots(points, size, flowInk(colour));
    pen.segments(crosses, { colour: ink('drop'), width: 1.5 });
    this.drawPointed(pen, v, p);
  }

  private drawPointed(pen: Pen, v: View, p: Packets): void {
    const i = this.pointed;
    if (i === null || p.time[i] === undefined) return;
    const at = (k: number): [number, number] => [v.x(p.time[k] ?? 0), v.y(p.occupancy[k] ?? 0)];
    const { flowBefore, flowAfter } = neighbours(p, i);
    for (const k of [flowBefore, flowAfter]) if (k !== null) pen.ring(...at(k), 5, { colour: ink('ink-soft'), width: 1 });
    pen.ring(...at(i), 6, { colour: ink('ink'), width: 2 });
  }

  /** Finds the packet that the pointer means. */
  private point(at: { left: number; top: number } | null): void {
    const d = this.data;
    const p = d?.packets;
    if (!d || !p) return;
    const u = this.plot.u;
    const place = { x: (t: number) => u.valToPos(t, 'x'), y: (b: number) => u.valToPos(b, 'y') };
    this.showPacket(at === null ? null : nearest(p, at.left, at.top, REACH, place, d.from, d.to));
  }

  /** Marks a packet; null for none. */
  showPacket(i: number | null): void {
    if (i === this.pointed) return;
    this.pointed = i;
    this.options.onPacket(i);
    this.plot.u.redraw(false, false);
  }

  private csv(): string | null {
    const p = this.data?.packets;
    if (!p) return null;
    const rows = Array.from(p.time, (t, i) =>
      [t.toFixed(9), p.dropped[i] ? '' : (p.left[i] ?? 0).toFixed(9), p.occupancy[i], p.flow[i], p.seq[i], p.ipBytes[i], p.cwnd[i] || '', p.dropped[i] ? 1 : 0, p.ce[i] ? 1 : 0].join(','),
    );
    return `${['arrival_s,departure_s,occupancy_bytes,flow_id,tcp_seq,ip_bytes,cwnd_pkts,dropped,ce_marked', ...rows].join('\n')}\n`;
  }
}
