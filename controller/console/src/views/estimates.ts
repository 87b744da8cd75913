// SPDX-License-Identifier: Apache-2.0
// The five quantities on which buffer sizing depends, now and over time.

import { Plot, RANGED } from '../charts/plot';
import { ink } from '../charts/theme';
import { attr, h, text } from '../dom';
import { MISSING, percent, significant } from '../format/units';
import type { Series } from '../model/series';
import { ESTIMATES, type EstimateColumn, type EstimateName } from '../model/estimates';
import type { Estimate } from '../model/types';
import type { Panel, Snapshot } from './panel';
import { section } from './parts';
import { chartBox } from './save';
import { docs, linked, meaning, term } from './terms';

interface Kind {
  /** Its symbol in the glossary. */
  symbol: string;
  words: string;
  axis: string;
  /** Column in a file, with its unit. */
  column: string;
  /** Shown value per stored value on the axis. */
  factor: number;
  floor: number;
  format: (v: number) => string;
  unit: string;
}

const KINDS: Record<EstimateName, Kind> = {
  nB: { symbol: 'N_b', words: 'flows bottlenecked here', axis: 'flows', column: 'n_b', factor: 1, floor: 4, format: (v) => (Math.abs(v - Math.round(v)) < 0.005 ? String(Math.round(v)) : v.toFixed(1)), unit: 'flows' },
  alpha: { symbol: 'α', words: 'drops of a loss event per bottlenecked flow', axis: 'α', column: 'alpha', factor: 1, floor: 0.5, format: (v) => significant(v, 2), unit: '' },
  delta: { symbol: 'Δ', words: 'spread of the windows around BDP/n', axis: 'Δ', column: 'delta', factor: 1, floor: 2, format: (v) => significant(v, 3), unit: '' },
  tE: { symbol: 'T_e', words: 'effective RTT: harmonic mean of base RTTs', axis: 'ms', column: 't_e_ms', factor: 1, floor: 5, format: (v) => significant(v, 3), unit: 'ms' },
  cE: { symbol: 'C_e', words: 'share of capacity carried by bottlenecked flows', axis: '% of C', column: 'c_e_share', factor: 100, floor: 1, format: (v) => percent(v).replace(' %', ''), unit: '% of C' },
};

class Tile {
  readonly element: HTMLElement;
  private readonly value = h('b', { class: 'value' }, MISSING);
  private readonly range = h('span', { class: 'soft small range' }, '');
  private readonly evidence = h('span', { class: 'evidence' }, '');
  private readonly chart: Plot;

  constructor(private readonly kind: Kind) {
    const name = `${kind.symbol} over time`;
    this.chart = new Plot({
      name,
      columns: [`${kind.column}_high`, `${kind.column}_low`, kind.column],
      height: 142,
      showX: true,
      y: { label: kind.axis, words: `${kind.words}${kind.unit && kind.unit !== 'flows' ? `, ${kind.unit}` : ''}`, factor: () => kind.factor, wanted: 3 },
      signs: () => [
        { words: 'estimate', look: 'line', colour: ink('water') },
        { words: 'its interval', look: 'band', colour: ink('water-band') },
      ],
      floor: kind.floor,
      cut: true,
      headroom: 1.08,
      ...RANGED,
    });
    this.element = h(
      'article',
      { class: 'estimate' },
      h('h3', {}, term(kind.symbol), h('span', { class: 'soft words' }, kind.words)),
      h('p', { class: 'figure' }, this.value, h('span', { class: 'soft small' }, kind.unit), this.range),
      chartBox(this.chart),
      h('p', { class: 'soft kept foot' }, this.evidence),
    );
  }

  update(e: Estimate | null, history: Series<EstimateColumn>, name: EstimateName, from: number, to: number): void {
    const f = this.kind.format;
    text(this.value, e ? f(e.value) : MISSING);
    text(this.range, e ? `${f(e.low)} to ${f(e.high)}` : 'not known yet');
    const samples = e?.samples === null || e?.samples === undefined ? '' : `, ${e.samples} samples`;
    text(this.evidence, e?.evidence ? `${e.evidence}${samples}` : '');
    attr(this.element, 'data-evidence', e?.evidence ?? null);
    this.chart.set(history.slice(from, [`${name}High`, `${name}Low`, name]), from, to);
  }

  reset(): void {
    this.chart.reset();
  }
}

/** Shortest time span that the charts show, seconds. */
const SHORTEST_SPAN = 60;

export class Estimates implements Panel {
  readonly element: HTMLElement;
  private readonly tiles = ESTIMATES.map((name) => [name, new Tile(KINDS[name])] as const);
  private readonly regimeWord = h('b', {}, MISSING);
  private regime = '';
  private readonly regimeText = h('span');
  private readonly window = h('span', { class: 'soft' });
  private readonly caveats = h('ul', { class: 'soft small caveats' });

  constructor() {
    const regime = h('p', { class: 'soft kept regime' }, this.regimeWord, ' ', this.regimeText);
    const bar = [docs('explanation/estimators.html', '?', 'How these are estimated'), this.window, regime];
    const grid = h('div', { class: 'estimates-grid' }, ...this.tiles.map(([, tile]) => tile.element));
    this.element = section('estimates', 'Estimates', bar, grid, this.caveats);
  }

  update({ link, history }: Snapshot): void {
    if (!history) return;
    const e = link?.estimate;
    const to = history.lastTime ?? 0;
    const first = history.time[0] ?? to;
    const from = Math.max(0, Math.min(first, to - SHORTEST_SPAN));
    for (const [n, tile] of this.tiles) tile.update(e?.values[n] ?? null, history, n, from, Math.max(to, from + SHORTEST_SPAN));
    text(this.window, e ? `window ${significant(e.to - e.from, 3)} s` : '');
    this.showRegime(e?.regime ?? 'unknown', e?.regimeWhy ?? '');
    const caveats = e?.caveats ?? [];
    if (caveats.join('\n') !== Array.from(this.caveats.children, (c) => c.textContent).join('\n')) {
      this.caveats.replaceChildren(...caveats.map((c) => h('li', {}, c)));
    }
  }

  private showRegime(regime: string, why: string): void {
    if (this.regime !== regime) {
      this.regimeWord.replaceChildren(term(regime, `${regime.charAt(0).toUpperCase()}${regime.slice(1)}`), ':');
    }
    this.regime = regime;
    linked(this.regimeText, why || meaning(regime) || 'Too little was seen');
  }

  reset(): void {
    for (const [, tile] of this.tiles) tile.reset();
  }
}
