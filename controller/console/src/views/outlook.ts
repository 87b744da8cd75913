// SPDX-License-Identifier: Apache-2.0
// Utilisation and loss predicted over the size of the buffer.

import { CurveChart, rangeOf } from '../charts/curve';
import { attr, h } from '../dom';
import { type SizeContext, sizeIn, type SizeUnit } from '../format/units';
import type { CurvePoint, Interval, Targets } from '../model/types';
import type { MakePanel } from './panel';
import { chartBox } from './save';

export interface OutlookState {
  points: readonly CurvePoint[];
  limit: number | null;
  advised: number | null;
  targets: Targets | null;
  unit: SizeUnit;
  context: SizeContext;
  /** Where the same curve is to be had as a file. */
  csv: string | null;
}

/** Of the smallest buffers the loss is so high that the rest would be flat. */
const LOSS_SHOWN = 5;

export class Outlook {
  readonly element: HTMLElement;
  private readonly utilisation: CurveChart;
  private readonly loss: CurveChart;
  private readonly empty = h('p', { class: 'empty' }, 'Nothing can be predicted yet.');
  private readonly grid: HTMLElement;
  private readonly csv = h('a', { class: 'file', download: '' }, 'CSV');
  private state: OutlookState | null = null;
  private label = '';

  constructor() {
    const plots = [h('div', { class: 'plot' }), h('div', { class: 'plot' })] as const;
    this.grid = h(
      'div',
      { class: 'outlook-charts' },
      chartBox('Predicted utilisation', plots[0], () => this.utilisation.plot),
      chartBox('Predicted loss', plots[1], () => this.loss.plot),
    );
    this.element = h(
      'section',
      { class: 'outlook-section', 'aria-labelledby': 'outlook-title' },
      h('div', { class: 'bar' }, h('h2', { id: 'outlook-title' }, 'Predicted over buffer size'), this.csv),
      this.empty,
      this.grid,
    );
    const x = {
      label: 'buffer, kB',
      factor: () => (this.state?.unit === 'bytes' || !this.state ? 1e-3 : (sizeIn(this.state.unit, 1, this.state.context) ?? 1e-3)),
    };
    this.utilisation = new CurveChart(plots[0], 'Predicted utilisation', 'utilisation', 'util., %', 100, x);
    this.loss = new CurveChart(plots[1], 'Predicted loss', 'loss_rate', 'loss, %', 100, x);
  }

  update(s: OutlookState): void {
    this.state = s;
    const known = s.points.length > 1;
    attr(this.empty, 'hidden', known);
    attr(this.grid, 'hidden', !known);
    attr(this.csv, 'hidden', !known || s.csv === null);
    attr(this.csv, 'href', s.csv ?? '');
    if (!known) return;
    const label = `buffer, ${s.unit === 'bytes' ? 'kB' : s.unit === 'ms' ? 'ms at capacity' : 'packets'}`;
    if (label !== this.label) {
      this.label = label;
      this.utilisation.relabel(label);
      this.loss.relabel(label);
    }
    const bytes = s.points.map((p) => p.bufferBytes);
    const columns = (pick: (p: CurvePoint) => Interval | null) => ({
      value: s.points.map((p) => pick(p)?.value ?? 0),
      low: s.points.map((p) => pick(p)?.low ?? 0),
      high: s.points.map((p) => pick(p)?.high ?? 0),
    });
    const marks = { bytes, limit: s.limit, advised: s.advised };
    const u = columns((p) => p.predicted.utilisation);
    const goal = s.targets?.utilisation ?? null;
    this.utilisation.set({ ...u, ...marks, target: goal, range: rangeOf([...u.low, 1], goal, false, 1.01) });
    const l = columns((p) => p.predicted.lossRate);
    const bound = s.targets?.lossRate ?? null;
    const most = bound === null ? 1 : LOSS_SHOWN * bound;
    this.loss.set({ ...l, ...marks, target: bound, range: rangeOf(l.value, bound, true, most) });
  }
}

export const outlookPanel: MakePanel = () => {
  const view = new Outlook();
  return { element: view.element, update: (s) => view.update({ ...s, points: s.curve, targets: s.advice?.targets ?? null }) };
};
