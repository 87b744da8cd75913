// SPDX-License-Identifier: Apache-2.0
// The five quantities that buffer sizing rests on, now and over time.

import { EstimateChart } from '../charts/estimate';
import { attr, h, prose, symbol, text } from '../dom';
import { MISSING, percent, significant } from '../format/units';
import type { Series } from '../model/series';
import { ESTIMATES, type Estimate, type EstimateColumn, type EstimateName, type LinkEstimate } from '../model/types';
import type { MakePanel } from './panel';
import { chartBox } from './save';
import { docs, type Term, term } from './terms';

interface Kind {
  term: Term;
  base: string;
  sub: string;
  words: string;
  axis: string;
  /** Shown value per stored value on the axis. */
  factor: number;
  floor: number;
  format: (v: number) => string;
  unit: string;
}

const KINDS: Record<EstimateName, Kind> = {
  nB: { term: 'N_b', base: 'N', sub: 'b', words: 'flows bottlenecked here', axis: 'flows', factor: 1, floor: 4, format: (v) => (Math.abs(v - Math.round(v)) < 0.005 ? String(Math.round(v)) : v.toFixed(1)), unit: 'flows' },
  alpha: { term: 'α', base: 'α', sub: '', words: 'drops of a loss event per bottlenecked flow', axis: 'α', factor: 1, floor: 0.5, format: (v) => significant(v, 2), unit: '' },
  delta: { term: 'Δ', base: 'Δ', sub: '', words: 'spread of the windows around BDP/n', axis: 'Δ', factor: 1, floor: 2, format: (v) => significant(v, 3), unit: '' },
  tE: { term: 'T_e', base: 'T', sub: 'e', words: 'effective RTT: harmonic mean of base RTTs', axis: 'ms', factor: 1, floor: 5, format: (v) => significant(v, 3), unit: 'ms' },
  cE: { term: 'C_e', base: 'C', sub: 'e', words: 'share of capacity carried by bottlenecked flows', axis: '% of C', factor: 100, floor: 1, format: (v) => percent(v).replace(' %', ''), unit: '% of C' },
};

class Tile {
  readonly element: HTMLElement;
  private readonly value = h('b', { class: 'value' }, MISSING);
  private readonly range = h('span', { class: 'range' }, '');
  private readonly evidence = h('span', { class: 'evidence' }, '');
  private readonly chart: EstimateChart;

  constructor(private readonly kind: Kind) {
    const plot = h('div', { class: 'plot' });
    const name = `${kind.base}${kind.sub ? `_${kind.sub}` : ''} over time`;
    this.element = h(
      'article',
      { class: 'estimate' },
      h('h3', {}, term(kind.term, symbol(kind.base, kind.sub)), h('span', { class: 'words' }, kind.words)),
      h('p', { class: 'figure' }, this.value, h('span', { class: 'unit' }, kind.unit), this.range),
      chartBox(name, plot, () => this.chart.plot),
      h('p', { class: 'foot' }, this.evidence),
    );
    this.chart = new EstimateChart(plot, name, kind.axis, kind.factor, kind.floor);
  }

  update(e: Estimate | null, history: Series<EstimateColumn>, name: EstimateName, from: number, to: number): void {
    const f = this.kind.format;
    text(this.value, e ? f(e.value) : MISSING);
    text(this.range, e ? `${f(e.low)} to ${f(e.high)}` : 'not known yet');
    const samples = e?.samples === null || e?.samples === undefined ? '' : `, ${e.samples} samples`;
    text(this.evidence, e?.evidence ? `${e.evidence}${samples}` : '');
    attr(this.element, 'data-evidence', e?.evidence ?? null);
    const [time, high, low, value] = history.slice(from, [`${name}High`, `${name}Low`, name]) as [
      number[],
      (number | null)[],
      (number | null)[],
      (number | null)[],
    ];
    this.chart.set(time, high, low, value, from, to);
  }

  reset(): void {
    this.chart.reset();
  }
}

const REGIMES: Record<string, string> = {
  transparent: 'Transparent: no flow is bottlenecked here.',
  elastic: 'Elastic: some flows are bottlenecked here, the others leave them room.',
  overload: 'Overload: what does not react to this link fills it.',
  unknown: 'Unknown: too little was seen.',
};

/** Shortest span of time the charts show, seconds. */
const SHORTEST_SPAN = 60;

export class Estimates {
  readonly element: HTMLElement;
  private readonly tiles = new Map<EstimateName, Tile>();
  private readonly regime = h('p', { class: 'regime' });
  private readonly regimeWord = h('b', {}, MISSING);
  private readonly regimeText = h('span');
  private readonly window = h('span', { class: 'when' });
  private readonly caveats = h('ul', { class: 'caveats' });

  constructor() {
    this.regime.append(this.regimeWord, ' ', this.regimeText);
    const grid = h('div', { class: 'estimates-grid' });
    for (const n of ESTIMATES) {
      const tile = new Tile(KINDS[n]);
      this.tiles.set(n, tile);
      grid.append(tile.element);
    }
    this.element = h(
      'section',
      { class: 'estimates', 'aria-labelledby': 'estimates-title' },
      h('div', { class: 'bar' }, h('h2', { id: 'estimates-title' }, 'Estimates'), docs('explanation/estimators.html', '?', 'How these are estimated'), this.window, this.regime),
      grid,
      this.caveats,
    );
  }

  update(e: LinkEstimate | null, history: Series<EstimateColumn>): void {
    const to = history.lastTime ?? 0;
    const first = history.time[0] ?? to;
    const from = Math.max(0, Math.min(first, to - SHORTEST_SPAN));
    for (const [n, tile] of this.tiles) tile.update(e?.values[n] ?? null, history, n, from, Math.max(to, from + SHORTEST_SPAN));
    text(this.window, e ? `window ${significant(e.to - e.from, 3)} s` : '');
    const words = REGIMES[e?.regime ?? 'unknown'] ?? '';
    const colon = words.indexOf(':');
    text(this.regimeWord, words.slice(0, colon + 1));
    prose(this.regimeText, e?.regimeWhy || words.slice(colon + 2));
    const caveats = e?.caveats ?? [];
    if (caveats.join('\n') !== Array.from(this.caveats.children, (c) => c.textContent).join('\n')) {
      this.caveats.replaceChildren(...caveats.map((c) => h('li', {}, c)));
    }
  }

  reset(): void {
    for (const t of this.tiles.values()) t.reset();
  }
}

export const estimatesPanel: MakePanel = () => {
  const view = new Estimates();
  return {
    element: view.element,
    update: (s) => s.history && view.update(s.link?.estimate ?? null, s.history),
    reset: () => view.reset(),
  };
};
