// SPDX-License-Identifier: Apache-2.0
// The flows of the chosen port, with their classes.

import { attr, h, keyed, text } from '../dom';
import { bitRate, count, milliseconds, percent } from '../format/units';
import { filterFlows, share, type SortKey, sortFlows } from '../model/flows';
import type { Flow, LinkEstimate } from '../model/types';
import { MOST_CHOSEN } from '../model/windows';
import type { Actions, Panel, Snapshot } from './panel';
import { heading, section, table } from './parts';
import { docs, meaning, term } from './terms';

const COLUMNS: readonly { key: SortKey; label: string; title: string; numeric: boolean }[] = [
  { key: 'cls', label: 'Class', title: 'What limits the flow', numeric: false },
  { key: 'src', label: 'Flow', title: 'Sender and receiver', numeric: false },
  { key: 'rate', label: 'Rate', title: 'On the wire at this port, while active', numeric: true },
  { key: 'share', label: 'Share', title: 'Of the capacity, over the whole window', numeric: true },
  { key: 'cwnd', label: 'cwnd, pkts', title: meaning('cwnd'), numeric: true },
  { key: 'srtt', label: 'srtt', title: meaning('srtt'), numeric: true },
  { key: 'base', label: 'Base RTT', title: meaning('T_i'), numeric: true },
  { key: 'drops', label: 'Drops', title: 'Packets dropped at this port in the window', numeric: true },
];

/** Number of rows per page. */
const PAGE = 40;

const rows = new WeakMap<Element, ReturnType<typeof partsOfRow>>();

function partsOfRow() {
  return {
    cls: h('span', { class: 'class-name' }),
    confidence: h('span', { class: 'soft small confidence' }),
    why: h('span', { class: 'small tip', role: 'tooltip' }),
    button: h('button', { type: 'button', class: 'class-tag' }),
    src: h('span'),
    dst: h('span', { class: 'soft' }),
    control: h('span', { class: 'soft small control' }),
    pick: h('button', { type: 'button', class: 'pick', 'aria-pressed': 'false' }, h('span', { class: 'swatch', 'aria-hidden': 'true' }), h('span', { class: 'visually-hidden' })),
    numbers: COLUMNS.filter((c) => c.numeric).map(() => h('td', { class: 'num' })),
  };
}

function createRow(): HTMLElement {
  const r = partsOfRow();
  r.button.append(r.cls, r.confidence);
  const e = h(
    'tr',
    {},
    h('td', { class: 'class-cell' }, r.button, r.why),
    h('td', { class: 'flow-cell' }, r.pick, r.src, ' ', r.dst, ' ', r.control),
    ...r.numbers,
  );
  rows.set(e, r);
  return e;
}

export class Flows implements Panel {
  readonly element: HTMLElement;
  private readonly body = h('tbody', { onclick: (e) => this.pick(e) });
  private readonly counts = h('p', { class: 'soft class-counts' });
  private readonly more = h('p', { class: 'empty' });
  private readonly heads = new Map<SortKey, HTMLElement>();
  private sort: SortKey = 'cls';
  private descending = false;
  private last: Snapshot | null = null;
  private page = 0;
  private readonly search = h('input', { type: 'search', id: 'flow-filter', placeholder: 'address, class, cubic', autocomplete: 'off', oninput: () => this.again() });
  private readonly place = h('span', {});
  private readonly back = h('button', { type: 'button', onclick: () => this.turn(-1) }, 'Previous');
  private readonly next = h('button', { type: 'button', onclick: () => this.turn(1) }, 'Next');
  private readonly pager = h('nav', { class: 'row pager', 'aria-label': 'Pages of flows' }, this.back, this.place, this.next);
  private readonly shortBox = h('input', { type: 'checkbox', id: 'show-short', onchange: () => this.again() });

  constructor(private readonly actions: Actions) {
    for (const c of COLUMNS) {
      const sort = (): void => {
        this.descending = this.sort === c.key ? !this.descending : c.numeric;
        this.sort = c.key;
        this.again();
      };
      this.heads.set(c.key, heading(h('button', { type: 'button', title: c.title, onclick: sort }, c.label), c.numeric));
    }
    const bar = [
      docs('explanation/estimators.html', '?', 'How flows are classed'),
      this.counts,
      h('label', { class: 'row soft choice', for: 'flow-filter' }, 'Filter', this.search),
      h('label', { class: 'row soft choice', for: 'show-short' }, this.shortBox, 'Show short flows'),
    ];
    this.element = section('flows', 'Flows', bar, table('Table of flows', 'flow', [...this.heads.values()], this.body), this.pager, this.more);
  }

  update(s: Snapshot): void {
    this.last = s;
    this.show();
  }

  reset(): void {
    this.page = 0;
  }

  /** Starts again at the first page. */
  private again(): void {
    this.page = 0;
    this.show();
  }

  private turn(by: number): void {
    this.page += by;
    this.show();
  }

  /** Adds the clicked row's flow to the charts, or removes it. */
  private pick(e: Event): void {
    const target = e.target as Element;
    if (target.closest('.class-tag')) return;
    const id = (target.closest('tr') as HTMLElement | null)?.dataset.key;
    const chosen = this.last?.chosen ?? [];
    if (id === undefined) return;
    const without = chosen.filter((c) => c !== id);
    this.actions.chooseFlows(without.length < chosen.length ? without : [...chosen.slice(-(MOST_CHOSEN - 1)), id]);
  }

  private show(): void {
    const s = this.last;
    const e = s?.link?.estimate ?? null;
    for (const [k, th] of this.heads) attr(th, 'aria-sort', k === this.sort ? (this.descending ? 'descending' : 'ascending') : null);
    const wanted = filterFlows(e?.flows.filter((f) => f.cls !== 'SHORT' || this.shortBox.checked) ?? [], this.search.value);
    const flows = sortFlows(wanted, this.sort, this.descending);
    const pages = Math.max(1, Math.ceil(flows.length / PAGE));
    this.page = Math.min(Math.max(0, this.page), pages - 1);
    const first = this.page * PAGE;
    const shown = flows.slice(first, first + PAGE);
    keyed(this.body, shown, (f) => f.id, createRow, (tr, f) => s && showRow(tr, f, s));
    attr(this.pager, 'hidden', pages < 2);
    attr(this.back, 'disabled', this.page === 0);
    attr(this.next, 'disabled', this.page === pages - 1);
    text(this.place, `${first + 1} to ${first + shown.length} of ${flows.length}`);
    this.showCounts(e);
    // If there are very many flows, the answer lacks some of them; the classes count all.
    const c = e?.classes;
    const total = c ? c.LBP + c.RBP + c.WL + c.OTHER + c.SHORT : 0;
    const missing = total - (e?.flows.length ?? 0);
    const none = this.search.value ? 'No flow has these words.' : e && e.flows.length > 0 ? 'Only short flows crossed this port in the window.' : 'No flow crossed this port in the window.';
    text(this.more, flows.length === 0 ? none : missing > 0 ? `${missing} more flows, the smallest, are not in the controller’s answer.` : '');
  }

  private showCounts(e: LinkEstimate | null): void {
    const c = e?.classes;
    const words = c ? `${c.LBP}/${c.RBP}/${c.WL}/${c.SHORT}/${c.OTHER}` : '';
    if (this.counts.dataset.words === words) return;
    this.counts.dataset.words = words;
    if (!c) this.counts.replaceChildren();
    else this.counts.replaceChildren(`${c.LBP} `, term('LBP'), `, ${c.RBP} `, term('RBP'), `, ${c.WL} `, term('WL'), `, ${c.SHORT} `, term('SHORT', 'short'), c.OTHER ? `, ${c.OTHER} other` : '');
  }
}

function showRow(tr: Element, f: Flow, s: Snapshot): void {
  const r = rows.get(tr);
  if (!r) return;
  attr(tr, 'data-class', f.cls);
  attr(tr, 'data-idle', f.activeFraction !== null && f.activeFraction < 0.02);
  text(r.cls, f.cls);
  text(r.confidence, f.confidence === null ? '' : `${Math.round(f.confidence * 100)} %`);
  text(r.why, `${meaning(f.cls)}. ${f.why}${f.evidence ? ` (${f.evidence})` : ''}`);
  attr(r.why, 'id', `why-${f.id}`);
  attr(r.button, 'aria-describedby', `why-${f.id}`);
  text(r.src, f.src);
  text(r.dst, `→ ${f.dst}`);
  text(r.control, f.control && f.control !== 'unknown' ? f.control : f.protocol);
  const picked = s.chosen.includes(f.id);
  attr(tr, 'data-picked', picked);
  attr(r.pick, 'aria-pressed', picked ? 'true' : 'false');
  const [swatch, words] = Array.from(r.pick.children);
  if (swatch) attr(swatch, 'data-flow', picked ? ((s.colours.get(f.id) ?? 0) % 8) + 1 : null);
  if (words) text(words, `Show the window of ${f.src}`);
  const numbers = [
    bitRate(f.rateBps),
    percent(share(f, s.link?.capacityBps ?? null)),
    count(f.cwndPkts),
    milliseconds(f.srttMs),
    milliseconds(f.baseRttMs),
    count(f.drops),
  ];
  r.numbers.forEach((cell, i) => {
    text(cell, numbers[i] ?? '');
  });
}
