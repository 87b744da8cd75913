// SPDX-License-Identifier: Apache-2.0
// An estimate over time: the value as a line inside its interval.

import type uPlot from 'uplot';
import { Plot } from './plot';
import { StickyMax } from './scale';
import { ink } from './theme';

export class EstimateChart {
  readonly plot: Plot;
  private readonly sticky: StickyMax;

  constructor(element: HTMLElement, name: string, label: string, factor: number, floor: number) {
    this.sticky = new StickyMax(floor);
    const hidden: uPlot.Series = { stroke: 'transparent', width: 0, points: { show: false } };
    this.plot = new Plot(element, {
      name,
      columns: ['high', 'low', 'value'],
      height: 142,
      showX: true,
      y: { label, factor: () => factor, wanted: 3 },
      yRange: () => [0, this.sticky.value],
      series: [hidden, hidden, { stroke: () => ink('water'), width: 1.75, points: { show: false } }],
      bands: [{ series: [1, 2], fill: () => ink('water-band') } as unknown as uPlot.Band],
    });
  }

  set(time: number[], high: (number | null)[], low: (number | null)[], value: (number | null)[], from: number, to: number): void {
    let needed = 0;
    for (const v of high) if (v !== null && Number.isFinite(v) && v > needed) needed = v;
    this.sticky.update(needed * 1.08);
    this.plot.set([time, high, low, value], from, to);
  }

  reset(): void {
    this.sticky.reset();
  }
}
