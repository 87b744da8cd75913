// SPDX-License-Identifier: Apache-2.0
// The papers' pictures on the time axis of the occupancy: the windows of chosen flows and their
// data in flight, with drops and CE marks, and W(t) against Q(t) + BDP. For a span shown packet by
// packet, the window under which each packet left.

import { indexAt } from '../model/series';
import { BRIDGED_S, MOST_CHOSEN, unbridged } from '../model/windows';
import type { FlowWindowColumns, Packets } from '../model/types';
import { DOTTED, type Sign, type Trace } from './figure';
import type { Pen, View } from './pen';
import { line, Plot, type PlotOptions } from './plot';
import { usual } from './scale';
import { flowInk, ink } from './theme';

export interface FlowWindowsData {
  time: readonly number[];
  flows: readonly FlowWindowColumns[];
  /** Colour number of each flow. */
  colours: ReadonlyMap<string, number>;
  flowName: (id: string) => string;
  /** Bytes that a packet of a flow takes in the queue. */
  packetBytes: number;
  from: number;
  to: number;
  /** Null unless the span is shown packet by packet. */
  packets: Packets | null;
}

/** Dots closer together than this become a line. */
const DOT_PX = 3;

export class FlowWindowsChart {
  readonly plot: Plot;
  private data: FlowWindowsData | null = null;
  private pointed: number | null = null;

  constructor(onSelect: PlotOptions['onSelect']) {
    const lines = (style: Partial<Trace>): Trace[] =>
      Array.from({ length: MOST_CHOSEN }, (_, i) => ({
        stroke: () => this.colour(this.data?.flows[i]?.id ?? ''),
        points: { show: false },
        bridged: BRIDGED_S,
        gaps: (u, _series, _from, _to, gaps) => unbridged(gaps, (x) => u.posToVal(x, 'x', true)),
        ...style,
      }));
    const series = [...lines({ width: 1.5 }), ...lines({ width: 1.5, dash: DOTTED })];
    this.plot = new Plot({
      name: 'Windows of flows',
      height: 140,
      showX: false,
      y: { label: 'window, pkts', words: 'window, packets', factor: () => 1, wanted: 3 },
      floor: 10,
      cut: true,
      series,
      signs: () => this.signs(),
      columns: series.map((_, i) => `${i < MOST_CHOSEN ? 'cwnd' : 'in_flight'}_pkts_${(i % MOST_CHOSEN) + 1}`),
      sync: 'recorder',
      onSelect,
      draw: (pen, view) => this.draw(pen, view),
      csv: () => this.csv(),
      empty: () => this.empty(),
    });
  }

  set(data: FlowWindowsData): void {
    this.data = data;
    if (data.packets === null) this.pointed = null;
    const { time, flows, from, to } = data;
    const blank = time.map(() => null);
    const shown = data.packets === null ? flows : [];
    const inFlight = shown.map((f) => f.inFlightBytes.map((b) => (b === null ? null : b / data.packetBytes)));
    const places = Array.from({ length: MOST_CHOSEN }, (_, i) => i);
    const columns = [...places.map((i) => shown[i]?.cwndPkts ?? blank), ...places.map((i) => inFlight[i] ?? blank)];
    const most = data.packets === null ? {} : { most: usual(this.packetsOf(data.packets).map((i) => data.packets?.cwnd[i] ?? 0)) };
    this.plot.set([[...time], ...columns], from, to, most);
  }

  /** Marks a packet; null for none. */
  showPacket(i: number | null): void {
    if (i === this.pointed) return;
    this.pointed = i;
    this.plot.redraw();
  }

  private colour(id: string): string {
    return flowInk(this.data?.colours.get(id));
  }

  /** Returns the packets of the chosen flows in the span whose sender's window is known. */
  private packetsOf(p: Packets): number[] {
    const chosen = new Set(this.data?.flows.map((f) => f.id));
    const found: number[] = [];
    const { from, to } = this.data ?? { from: 0, to: 0 };
    for (let i = indexAt(p, from); i < p.time.length && (p.time[i] ?? 0) <= to; i += 1) {
      if ((p.cwnd[i] ?? 0) > 0 && chosen.has(String(p.flow[i]))) found.push(i);
    }
    return found;
  }

  private signs(): Sign[] {
    const d = this.data;
    const flows = d?.flows.map((f): Sign => ({ words: d.flowName(f.id), look: 'line', colour: this.colour(f.id) })) ?? [];
    const soft = ink('ink-soft');
    const kinds: Sign[] = d?.packets
      ? [{ words: 'cwnd that a packet left under', look: 'dots', colour: soft }]
      : [{ words: 'cwnd', look: 'line', colour: soft }, { words: 'in flight', look: 'dotted', colour: soft }];
    const events = d?.packets ? [d.packets] : (d?.flows.map((f) => ({ dropped: f.drops, ce: f.ce })) ?? []);
    const dropped: Sign[] = events.some((e) => e.dropped.some((n) => (n ?? 0) > 0)) ? [{ words: 'dropped here', look: 'cross', colour: ink('drop') }] : [];
    const marked: Sign[] = events.some((e) => e.ce.some((n) => n > 0)) ? [{ words: 'marked CE', look: 'ring', colour: ink('limit') }] : [];
    return [...flows, ...kinds, ...dropped, ...marked];
  }

  private draw(pen: Pen, v: View): void {
    const d = this.data;
    if (!d) return;
    if (d.packets) this.drawPackets(pen, v, d.packets);
    else drawEvents(pen, v, d);
  }

  /** Draws a dot at each packet, and a line that steps from one packet to the next of its flow. */
  private drawPackets(pen: Pen, v: View, p: Packets): void {
    const byFlow = new Map<number, { dots: number[]; steps: number[]; x: number; y: number }>();
    const crosses: number[] = [];
    const shown = this.packetsOf(p);
    for (const i of shown) {
      const [x, y] = [v.x(p.time[i] ?? 0), v.y(p.cwnd[i] ?? 0)];
      const flow = p.flow[i] ?? 0;
      const f = byFlow.get(flow) ?? { dots: [], steps: [], x, y };
      if (f.dots.length === 0) byFlow.set(flow, f);
      else f.steps.push(f.x, f.y, x, f.y, x, f.y, x, y);
      f.dots.push(x, y);
      [f.x, f.y] = [x, y];
      if (p.dropped[i]) crosses.push(...cross(x, y));
      if (p.ce[i]) pen.ring(x, y, 4, { colour: ink('limit'), width: 1.5 });
    }
    const apart = (v.width * Math.max(1, byFlow.size)) / Math.max(1, shown.length);
    for (const [flow, f] of byFlow) {
      const colour = this.colour(String(flow));
      pen.segments(f.steps, { colour, width: 1 });
      pen.dots(f.dots, apart < DOT_PX ? 1.75 : 3, colour);
    }
    pen.segments(crosses, { colour: ink('drop'), width: 1.75 });
    const i = this.pointed;
    if (i !== null && shown.includes(i)) pen.ring(v.x(p.time[i] ?? 0), v.y(p.cwnd[i] ?? 0), 6, { colour: ink('ink'), width: 2 });
  }

  private empty(): boolean {
    const d = this.data;
    if (!d) return true;
    if (d.packets) return this.packetsOf(d.packets).length === 0;
    return !d.flows.some((f) => f.cwndPkts.some((c, i) => c !== null && (d.time[i] ?? 0) >= d.from && (d.time[i] ?? 0) <= d.to));
  }

  private csv(): string {
    const d = this.data;
    if (!d) return '';
    if (d.packets) return this.packetRows(d.packets);
    const names = d.flows.flatMap((f) => [`flow_${f.id}_cwnd_pkts`, `flow_${f.id}_in_flight_bytes`, `flow_${f.id}_drops`, `flow_${f.id}_ce_marked`]);
    const rows = d.time.flatMap((t, i) => {
      if (t < d.from || t > d.to) return [];
      return [[Number(t.toFixed(6)), ...d.flows.flatMap((f) => [f.cwndPkts[i] ?? '', f.inFlightBytes[i] ?? '', f.drops[i] ?? '', f.ce[i] ?? 0])].join(',')];
    });
    return `${[['time_s', ...names].join(','), ...rows].join('\n')}\n`;
  }

  private packetRows(p: Packets): string {
    const rows = this.packetsOf(p).map((i) => [(p.time[i] ?? 0).toFixed(9), p.flow[i], p.cwnd[i], p.dropped[i] ? 1 : 0, p.ce[i] ? 1 : 0].join(','));
    return `${['arrival_s,flow_id,cwnd_pkts,dropped,ce_marked', ...rows].join('\n')}\n`;
  }
}

function cross(x: number, y: number): number[] {
  return [x - 4, y - 4, x + 4, y + 4, x - 4, y + 4, x + 4, y - 4];
}

/** Draws a cross at each drop of a flow, a ring at each mark. */
function drawEvents(pen: Pen, v: View, d: FlowWindowsData): void {
  for (const f of d.flows) {
    let last: number | null = null;
    const crosses: number[] = [];
    d.time.forEach((t, i) => {
      last = f.cwndPkts[i] ?? last;
      if (last === null) return;
      const [x, y] = [v.x(t), v.y(last)];
      if ((f.drops[i] ?? 0) > 0) crosses.push(...cross(x, y));
      if ((f.ce[i] ?? 0) > 0) pen.ring(x, y, 4, { colour: ink('limit'), width: 1.5 });
    });
    pen.segments(crosses, { colour: ink('drop'), width: 1.75 });
  }
}

/** Signs of the lines of W(t) and of Q(t) + BDP. */
export const SUM_SIGNS = [
  { words: 'W: in flight', look: 'line', ink: 'advised' },
  { words: 'Q + BDP', look: 'line', ink: 'water' },
] as const;

/** Creates the chart of W(t) against Q(t) + BDP. */
export function sumChart(factor: () => number, label: string, onSelect: PlotOptions['onSelect']): Plot {
  return new Plot({
    name: 'W against Q and BDP',
    height: 116,
    showX: false,
    y: { label, factor, wanted: 3 },
    floor: 3000,
    cut: true,
    series: [line('water', 1.75), line('advised', 1.5)],
    signs: () => SUM_SIGNS.map((s) => ({ ...s, colour: ink(s.ink) })),
    columns: ['queue_plus_bdp_bytes', 'in_flight_bytes'],
    sync: 'recorder',
    onSelect,
  });
}
