// SPDX-License-Identifier: Apache-2.0
// The papers' pictures on the time axis of the occupancy: the windows of chosen
// flows with their drops and CE marks, and W(t) beside Q(t) + BDP.

import type uPlot from 'uplot';
import { MOST_CHOSEN } from '../model/windows';
import type { FlowWindowColumns } from '../model/types';
import type { Pen } from './pen';
import { Plot, type View } from './plot';
import { StickyMax } from './scale';
import { flowInk, ink } from './theme';

export interface WindowsChartOptions {
  onSelect: (from: number, to: number) => void;
  onCursor: (index: number | null) => void;
}

const largest = (columns: readonly (readonly (number | null)[])[]): number => {
  let m = 0;
  for (const c of columns) for (const v of c) if (v !== null && v > m) m = v;
  return m;
};

export class FlowWindowsChart {
  readonly plot: Plot;
  private readonly sticky = new StickyMax(10);
  private flows: readonly FlowWindowColumns[] = [];
  private time: readonly number[] = [];
  private colours: readonly number[] = [];

  constructor(element: HTMLElement, o: WindowsChartOptions) {
    const series = Array.from({ length: MOST_CHOSEN }, (_, i): uPlot.Series => ({
      stroke: () => flowInk(this.colours[i]),
      width: 1.5,
      points: { show: false },
      spanGaps: true,
    }));
    this.plot = new Plot(element, {
      name: 'Windows of flows',
      height: 140,
      showX: false,
      y: { label: 'cwnd, pkts', factor: () => 1, wanted: 3 },
      yRange: () => [0, this.sticky.value],
      series,
      columns: series.map((_, i) => `cwnd_pkts_${i + 1}`),
      sync: 'recorder',
      ...o,
      draw: (pen, view) => this.draw(pen, view),
      csv: () => this.csv(),
    });
  }

  set(time: readonly number[], flows: readonly FlowWindowColumns[], colours: readonly number[], from: number, to: number): void {
    this.time = time;
    this.flows = flows;
    this.colours = colours;
    this.sticky.update(largest(flows.map((f) => f.cwndPkts)) * 1.1);
    const columns = Array.from({ length: MOST_CHOSEN }, (_, i) => flows[i]?.cwndPkts ?? time.map(() => null));
    this.plot.set([[...time], ...columns], from, to);
  }

  reset(): void {
    this.sticky.reset();
  }

  /** A cross where packets of a flow were dropped, a ring where they were marked. */
  private draw(pen: Pen, v: View): void {
    for (const f of this.flows) {
      let last: number | null = null;
      const crosses: number[] = [];
      this.time.forEach((t, i) => {
        last = f.cwndPkts[i] ?? last;
        if (last === null) return;
        const [x, y] = [v.x(t), v.y(last)];
        if ((f.drops[i] ?? 0) > 0) crosses.push(x - 4, y - 4, x + 4, y + 4, x - 4, y + 4, x + 4, y - 4);
        if ((f.ce[i] ?? 0) > 0) pen.ring(x, y, 4, { colour: ink('limit'), width: 1.5 });
      });
      pen.segments(crosses, { colour: ink('drop'), width: 1.75 });
    }
  }

  private csv(): string {
    const names = this.flows.flatMap((f) => [`flow_${f.id}_cwnd_pkts`, `flow_${f.id}_in_flight_bytes`, `flow_${f.id}_drops`, `flow_${f.id}_ce_marked`]);
    const rows = this.time.map((t, i) => [Number(t.toFixed(6)), ...this.flows.flatMap((f) => [f.cwndPkts[i] ?? '', f.inFlightBytes[i] ?? '', f.drops[i] ?? 0, f.ce[i] ?? 0])].join(','));
    return `${[['time_s', ...names].join(','), ...rows].join('\n')}\n`;
  }
}

export class SumChart {
  readonly plot: Plot;
  private readonly sticky = new StickyMax(3000);

  constructor(element: HTMLElement, factor: () => number, label: () => string, o: WindowsChartOptions) {
    this.plot = new Plot(element, {
      name: 'W against Q and BDP',
      height: 116,
      showX: false,
      y: { label: label(), factor, wanted: 3 },
      yRange: () => [0, this.sticky.value],
      series: [
        { stroke: () => ink('water'), width: 1.75, points: { show: false } },
        { stroke: () => ink('advised'), width: 1.5, points: { show: false } },
      ],
      columns: ['queue_plus_bdp_bytes', 'in_flight_bytes'],
      sync: 'recorder',
      ...o,
    });
  }

  set(time: readonly number[], queuePlusBdp: (number | null)[], inFlight: (number | null)[], from: number, to: number): void {
    this.sticky.update(largest([queuePlusBdp, inFlight]) * 1.1);
    this.plot.set([[...time], queuePlusBdp, inFlight], from, to);
  }

  relabel(label: string): void {
    const axis = this.plot.u.axes[1];
    if (axis) axis.label = label;
    this.plot.redraw();
  }

  reset(): void {
    this.sticky.reset();
  }
}
