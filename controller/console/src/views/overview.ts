// SPDX-License-Identifier: Apache-2.0
// Every port in one table: what misses its target first, with a search.

import { attr, h, keyed, text } from '../dom';
import { bitRate, formatSize, milliseconds, MISSING, percent, significant } from '../format/units';
import { limitBytes, linkKey, linkTitle } from '../model/links';
import { type GoalName, matches, missed, sortOverview } from '../model/overview';
import type { Brief } from '../model/types';
import type { Actions, Panel, Snapshot } from './panel';
import { heading, section, table } from './parts';
import { N_B } from './terms';

/** Columns after the port, with the target that each is held against. */
const COLUMNS: readonly [string | (() => HTMLElement), GoalName?][] = [
  ['C'],
  ['Utilisation', 'utilisation'],
  ['Loss', 'loss'],
  ['Largest delay', 'delay'],
  [N_B],
  ['Limit'],
  ['Advised'],
];
/** Rows shown; a search finds the others. */
const MOST = 50;

export class Overview implements Panel {
  readonly element: HTMLElement;
  private readonly body = h('tbody');
  private readonly search = h('input', { type: 'search', id: 'port-search', placeholder: 'name, node:port', autocomplete: 'off', oninput: () => this.last && this.update(this.last) });
  private readonly sum = h('span', { class: 'soft when' });
  private readonly more = h('p', { class: 'empty' });
  private last: Snapshot | null = null;

  constructor(private readonly actions: Actions) {
    const head = [heading('Port'), ...COLUMNS.map(([label]) => heading(typeof label === 'string' ? label : label(), true))];
    const search = h('label', { class: 'row soft choice', for: 'port-search' }, 'Search', this.search);
    this.element = section('overview', 'Ports', [this.sum, search], table('Table of ports', 'overview', head, this.body), this.more);
  }

  update(s: Snapshot): void {
    this.last = s;
    attr(this.element, 'hidden', s.overview.length < 2);
    if (s.overview.length < 2) return;
    const missing = s.overview.filter((b) => Object.keys(missed(b)).length > 0).length;
    const silent = s.overview.filter((b) => b.stale).length;
    text(this.sum, `${s.overview.length} ports, ${missing} ${missing === 1 ? 'misses a target' : 'miss a target'}${silent > 0 ? `, ${silent} silent` : ''}`);
    const found = sortOverview(s.overview.filter((b) => matches(b, this.search.value)));
    keyed(this.body, found.slice(0, MOST), linkKey, (b) => this.row(b), (tr, b) => this.show(tr, b, s));
    text(this.more, found.length === 0 ? 'No port has this name.' : found.length > MOST ? `${found.length - MOST} more: search for one.` : '');
  }

  private row(b: Brief): HTMLElement {
    const key = linkKey(b);
    const button = h('button', { type: 'button', class: 'quiet', onclick: () => this.actions.selectLink(key) });
    return h('tr', {}, h('td', {}, button), ...COLUMNS.map(() => h('td', { class: 'num' })));
  }

  private show(tr: Element, b: Brief, s: Snapshot): void {
    const [first, ...cells] = Array.from(tr.children);
    const button = first?.firstElementChild;
    const selected = s.link !== null && linkKey(s.link) === linkKey(b);
    if (button) {
      text(button, linkTitle(b));
      attr(button, 'aria-current', selected ? 'true' : null);
    }
    attr(tr, 'data-selected', selected);
    attr(tr, 'data-stale', b.stale);
    const context = { packetBytes: s.context.packetBytes, capacityBps: b.capacityBps ?? 0 };
    const values = [
      bitRate(b.capacityBps),
      percent(b.recent.utilisation),
      percent(b.recent.lossRate),
      milliseconds(b.recent.delayMs.max),
      b.nB === null ? MISSING : significant(b.nB, 3),
      formatSize(s.unit, limitBytes(b), context),
      formatSize(s.unit, b.advisedBytes, context),
    ];
    const misses = missed(b);
    cells.forEach((c, i) => {
      text(c, values[i] ?? '');
      const goal = COLUMNS[i]?.[1];
      const bad = goal !== undefined && misses[goal] !== undefined;
      attr(c, 'data-bad', bad);
      attr(c, 'title', bad ? 'misses its target' : null);
    });
  }
}
