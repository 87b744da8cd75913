// SPDX-License-Identifier: Apache-2.0
// Utilisation and loss predicted over the size of the buffer.

import { CurveChart, rangeOf } from '../charts/curve';
import { attr, h } from '../dom';
import { axisFactor, axisUnit, formatSize } from '../format/units';
import type { CurvePoint, Interval } from '../model/types';
import type { Panel, Snapshot } from './panel';
import { section } from './parts';
import { chartBox } from './save';

/** Of the smallest buffers the loss is so high that the rest would be flat. */
const LOSS_SHOWN = 5;

export class Outlook implements Panel {
  readonly element: HTMLElement;
  private readonly utilisation: CurveChart;
  private readonly loss: CurveChart;
  private readonly empty = h('p', { class: 'empty' }, 'Nothing can be predicted yet.');
  private readonly grid: HTMLElement;
  private readonly csv = h('a', { class: 'file', download: '' }, 'CSV');
  private state: Snapshot | null = null;
  private label = '';

  constructor() {
    const x = { label: 'buffer, kB', column: 'buffer_bytes', factor: () => (this.state ? axisFactor(this.state.unit, this.state.context) : 1e-3) };
    this.utilisation = new CurveChart('Predicted utilisation', 'utilisation', 'util., %', 'utilisation, %', x);
    this.loss = new CurveChart('Predicted loss', 'loss_rate', 'loss, %', 'loss, %', x);
    this.grid = h('div', { class: 'outlook-charts' }, chartBox(this.utilisation.plot), chartBox(this.loss.plot));
    this.element = section('outlook-section', 'Predicted over buffer size', [this.csv], this.empty, this.grid);
  }

  update(s: Snapshot): void {
    this.state = s;
    const points = s.curve;
    const targets = s.advice?.targets;
    const known = points.length > 1;
    attr(this.empty, 'hidden', known);
    attr(this.grid, 'hidden', !known);
    attr(this.csv, 'hidden', !known || s.csv === null);
    attr(this.csv, 'href', s.csv ?? '');
    if (!known) return;
    const label = `buffer, ${axisUnit(s.unit)}`;
    if (label !== this.label) {
      this.label = label;
      this.utilisation.plot.relabel(0, label);
      this.loss.plot.relabel(0, label);
    }
    const bytes = points.map((p) => p.bufferBytes);
    const columns = (pick: (p: CurvePoint) => Interval | null) => ({
      value: points.map((p) => pick(p)?.value ?? 0),
      low: points.map((p) => pick(p)?.low ?? 0),
      high: points.map((p) => pick(p)?.high ?? 0),
    });
    const size = (b: number): string => formatSize(s.unit, b, s.context);
    const marks = { bytes, limit: s.limit, advised: s.advised, size };
    const u = columns((p) => p.predicted.utilisation);
    const goal = targets?.utilisation ?? null;
    this.utilisation.set({ ...u, ...marks, target: goal, range: rangeOf([...u.low, 1], goal, false, 1.01) });
    const l = columns((p) => p.predicted.lossRate);
    const bound = targets?.lossRate ?? null;
    const most = bound === null ? 1 : LOSS_SHOWN * bound;
    this.loss.set({ ...l, ...marks, target: bound, range: rangeOf(l.value, bound, true, most) });
  }
}
