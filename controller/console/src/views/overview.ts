// SPDX-License-Identifier: Apache-2.0
// Every port in one table, with a search: the most urgent first.

import { attr, h, keyed, svg, text } from '../dom';
import { bitRate, formatSize, milliseconds, MISSING, percent, significant } from '../format/units';
import { limitBytes, linkKey, linkTitle } from '../model/links';
import { type GoalName, GROUPS, type Group, group, matches, missed, overAdvised, sortOverview } from '../model/overview';
import { trailPath } from '../model/trail';
import type { Brief } from '../model/types';
import { answerWord } from '../model/verdict';
import type { Actions, Panel, Snapshot } from './panel';
import { heading, section, table } from './parts';
import { term } from './terms';

/** Columns of figures, with the target that each is compared with. */
const COLUMNS: readonly [string, GoalName?][] = [
  ['Utilisation', 'utilisation'],
  ['Loss', 'loss'],
  ['Largest delay', 'delay'],
  ['N_b'],
  ['C'],
];
/** Maximum number of rows shown; a search finds the others. */
const MOST = 50;
/** Size of the picture of the queue, CSS pixels. */
const [TRAIL_WIDTH, TRAIL_HEIGHT] = [110, 20];

const SUMS: Record<Group, string> = { missed: 'too small or missing a target', too_big: 'too big', cannot_say: 'not judged', fine: 'fine' };

/** The changing parts of a row. */
interface Row {
  button: HTMLElement;
  answer: HTMLElement;
  limit: HTMLElement;
  ratio: HTMLElement;
  trail: SVGElement;
  cells: HTMLElement[];
}

export class Overview implements Panel {
  readonly element: HTMLElement;
  private readonly body = h('tbody');
  private readonly search = h('input', { type: 'search', id: 'port-search', placeholder: 'name, node:port', autocomplete: 'off', oninput: () => this.last && this.update(this.last) });
  private readonly sum = h('span', { class: 'soft when' });
  private readonly more = h('p', { class: 'empty' });
  private readonly rows = new WeakMap<Element, Row>();
  private last: Snapshot | null = null;

  constructor(private readonly actions: Actions) {
    const figures = COLUMNS.map(([label]) => heading(term(label), true));
    const head = [heading('Port'), heading('Buffer'), heading('Limit / advised', true), h('th', { scope: 'col', class: 'trail-cell' }, 'Queue, 3 min'), ...figures];
    const search = h('label', { class: 'row soft choice', for: 'port-search' }, 'Search', this.search);
    this.element = section('overview', 'Ports', [this.sum, search], table('Table of ports', 'overview', head, this.body), this.more);
  }

  update(s: Snapshot): void {
    this.last = s;
    attr(this.element, 'hidden', s.overview.length < 2);
    if (s.overview.length < 2) return;
    text(this.sum, sums(s.overview));
    const found = sortOverview(s.overview.filter((b) => matches(b, this.search.value)));
    keyed(this.body, found.slice(0, MOST), linkKey, (b) => this.row(b), (tr, b) => this.show(tr, b, s));
    text(this.more, found.length === 0 ? 'No port has this name.' : found.length > MOST ? `${found.length - MOST} more: search for one.` : '');
  }

  private row(b: Brief): HTMLElement {
    const key = linkKey(b);
    const r: Row = {
      button: h('button', { type: 'button', class: 'quiet', onclick: () => this.actions.selectLink(key) }),
      answer: h('span', { class: 'answer' }),
      limit: h('span'),
      ratio: h('small', { class: 'ratio' }),
      trail: svg('path'),
      cells: COLUMNS.map(() => h('td', { class: 'num' })),
    };
    const top = svg('path', { class: 'trail-limit', d: `M0 1H${TRAIL_WIDTH}` });
    const trail = svg('svg', { class: 'trail', width: TRAIL_WIDTH, height: TRAIL_HEIGHT, viewBox: `0 0 ${TRAIL_WIDTH} ${TRAIL_HEIGHT}`, 'aria-hidden': 'true' }, top, svg('g', { transform: 'translate(0 1)' }, r.trail));
    const tr = h('tr', {}, h('td', {}, r.button), h('td', {}, r.answer), h('td', { class: 'num' }, r.limit, r.ratio), h('td', { class: 'trail-cell' }, trail), ...r.cells);
    this.rows.set(tr, r);
    return tr;
  }

  private show(tr: Element, b: Brief, s: Snapshot): void {
    const r = this.rows.get(tr);
    if (!r) return;
    const selected = s.link !== null && linkKey(s.link) === linkKey(b);
    text(r.button, linkTitle(b));
    attr(r.button, 'aria-current', selected ? 'true' : null);
    attr(tr, 'data-selected', selected);
    attr(tr, 'data-stale', b.stale);
    text(r.answer, b.stale ? 'silent' : answerWord(b.answer));
    attr(r.answer, 'data-answer', b.stale ? null : b.answer);
    const context = { packetBytes: s.context.packetBytes, capacityBps: b.capacityBps ?? 0 };
    text(r.limit, `${formatSize(s.unit, limitBytes(b), context)} / ${formatSize(s.unit, b.advisedBytes, context)}`);
    const ratio = overAdvised(b);
    text(r.ratio, ratio === null ? '' : `${significant(ratio, 2)} ×`);
    attr(r.trail, 'd', trailPath(s.trails.of(linkKey(b)), TRAIL_WIDTH, TRAIL_HEIGHT - 2));
    const values = [percent(b.recent.utilisation), percent(b.recent.lossRate), milliseconds(b.recent.delayMs.max), b.nB === null ? MISSING : significant(b.nB, 3), bitRate(b.capacityBps)];
    const misses = missed(b);
    r.cells.forEach((c, i) => {
      text(c, values[i] ?? '');
      const goal = COLUMNS[i]?.[1];
      const bad = goal !== undefined && misses[goal] !== undefined;
      attr(c, 'data-bad', bad);
      attr(c, 'title', bad ? 'misses its target' : null);
    });
  }
}

/** Returns the number of ports of each kind. */
function sums(all: readonly Brief[]): string {
  const counts = GROUPS.map((g) => [all.filter((b) => group(b) === g).length, SUMS[g]] as const);
  return `${all.length} ports: ${counts.filter(([n]) => n > 0).map(([n, words]) => `${n} ${words}`).join(', ')}`;
}
