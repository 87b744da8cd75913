// SPDX-License-Identifier: Apache-2.0
// The papers' pictures on the time axis of the occupancy: the windows of chosen
// flows and what they have in flight, with their drops and CE marks, and W(t)
// beside Q(t) + BDP.

import type uPlot from 'uplot';
import { MOST_CHOSEN, unbridged } from '../model/windows';
import type { FlowWindowColumns } from '../model/types';
import type { Pen, View } from './pen';
import { line, Plot, type PlotOptions } from './plot';
import { flowInk, ink } from './theme';

export class FlowWindowsChart {
  readonly plot: Plot;
  private flows: readonly FlowWindowColumns[] = [];
  private time: readonly number[] = [];
  private colours: readonly number[] = [];

  constructor(onSelect: PlotOptions['onSelect']) {
    const lines = (style: Partial<uPlot.Series>): uPlot.Series[] =>
      Array.from({ length: MOST_CHOSEN }, (_, i) => ({ stroke: () => flowInk(this.colours[i]), points: { show: false }, gaps: (u, _series, _from, _to, gaps) => unbridged(gaps, (x) => u.posToVal(x, 'x', true)), ...style }));
    const series = [...lines({ width: 1.5 }), ...lines({ width: 1.5, dash: [1.5, 3] })];
    this.plot = new Plot({
      name: 'Windows of flows',
      height: 140,
      showX: false,
      y: { label: 'window, pkts', factor: () => 1, wanted: 3 },
      floor: 10,
      series,
      columns: series.map((_, i) => `${i < MOST_CHOSEN ? 'cwnd' : 'in_flight'}_pkts_${(i % MOST_CHOSEN) + 1}`),
      sync: 'recorder',
      onSelect,
      draw: (pen, view) => this.draw(pen, view),
      csv: () => this.csv(),
    });
  }

  /** A packet of a flow takes `packetBytes` of the queue. */
  set(time: readonly number[], flows: readonly FlowWindowColumns[], colours: readonly number[], packetBytes: number, from: number, to: number): void {
    this.time = time;
    this.flows = flows;
    this.colours = colours;
    const blank = time.map(() => null);
    const inFlight = flows.map((f) => f.inFlightBytes.map((b) => (b === null ? null : b / packetBytes)));
    const places = Array.from({ length: MOST_CHOSEN }, (_, i) => i);
    const columns = [...places.map((i) => flows[i]?.cwndPkts ?? blank), ...places.map((i) => inFlight[i] ?? blank)];
    this.plot.set([[...time], ...columns], from, to);
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

/** W(t) against Q(t) + BDP. */
export function sumChart(factor: () => number, label: string, onSelect: PlotOptions['onSelect']): Plot {
  return new Plot({
    name: 'W against Q and BDP',
    height: 116,
    showX: false,
    y: { label, factor, wanted: 3 },
    floor: 3000,
    series: [line('water', 1.75), line('advised', 1.5)],
    columns: ['queue_plus_bdp_bytes', 'in_flight_bytes'],
    sync: 'recorder',
    onSelect,
  });
}
