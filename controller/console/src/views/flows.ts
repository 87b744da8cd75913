// SPDX-License-Identifier: Apache-2.0
// The flows of the chosen port with their classes.

import { attr, h, keyed, text } from '../dom';
import { bitRate, count, milliseconds, MISSING, percent } from '../format/units';
import { filterFlows, share, type SortKey, sortFlows } from '../model/flows';
import type { Flow, LinkEstimate } from '../model/types';
import { MOST_CHOSEN } from '../model/windows';
import type { Actions, MakePanel, Snapshot } from './panel';
import { docs, meaning, term } from './terms';

const COLUMNS: readonly { key: SortKey; label: string; title: string; numeric: boolean }[] = [
  { key: 'cls', label: 'Class', title: 'What limits the flow', numeric: false },
  { key: 'src', label: 'Flow', title: 'Sender and receiver', numeric: false },
  { key: 'rate', label: 'Rate', title: 'On the wire at this port, while active', numeric: true },
  { key: 'share', label: 'Share', title: 'Of the capacity, over the whole window', numeric: true },
  { key: 'cwnd', label: 'cwnd, pkts', title: 'Last congestion window, segments', numeric: true },
  { key: 'srtt', label: 'srtt', title: 'Smoothed round-trip time', numeric: true },
  { key: 'base', label: 'Base RTT', title: 'Round-trip time without the queueing here', numeric: true },
  { key: 'drops', label: 'Drops', title: 'Packets dropped at this port in the window', numeric: true },
];

/** Rows of a page. */
const PAGE = 40;

interface Row {
  cls: Element;
  confidence: Element;
  why: Element;
  button: HTMLElement;
  src: Element;
  dst: Element;
  control: Element;
  rate: Element;
  share: Element;
  pick: HTMLButtonElement;
  cwnd: Element;
  srtt: Element;
  base: Element;
  drops: Element;
}

const rows = new WeakMap<Element, Row>();

function createRow(): HTMLElement {
  const r: Row = {
    cls: h('span', { class: 'class-name' }),
    confidence: h('span', { class: 'confidence' }),
    why: h('span', { class: 'tip', role: 'tooltip' }),
    button: h('button', { type: 'button', class: 'class-tag' }),
    src: h('span'),
    dst: h('span', { class: 'dst' }),
    control: h('span', { class: 'control' }),
    rate: h('td', { class: 'num' }),
    share: h('td', { class: 'num' }),
    pick: h('button', { type: 'button', class: 'pick', 'aria-pressed': 'false' }, h('span', { class: 'swatch', 'aria-hidden': 'true' }), h('span', { class: 'visually-hidden' })),
    cwnd: h('td', { class: 'num' }),
    srtt: h('td', { class: 'num' }),
    base: h('td', { class: 'num' }),
    drops: h('td', { class: 'num' }),
  };
  r.button.append(r.cls, r.confidence);
  const e = h(
    'tr',
    {},
    h('td', { class: 'class-cell' }, r.button, r.why),
    h('td', { class: 'flow-cell' }, r.pick, r.src, ' ', r.dst, ' ', r.control),
    r.rate,
    r.share,
    r.cwnd,
    r.srtt,
    r.base,
    r.drops,
  );
  rows.set(e, r);
  return e;
}

export class Flows {
  readonly element: HTMLElement;
  private readonly body = h('tbody');
  private readonly counts = h('p', { class: 'class-counts' });
  private readonly more = h('p', { class: 'empty' });
  private readonly heads = new Map<SortKey, HTMLElement>();
  private sort: SortKey = 'cls';
  private descending = false;
  private last: LinkEstimate | null = null;
  private page = 0;
  private chosen: readonly string[] = [];
  private colours: ReadonlyMap<string, number> = new Map();
  private capacityBps: number | null = null;
  private readonly search = h('input', { type: 'search', id: 'flow-filter', placeholder: 'address, class, cubic', autocomplete: 'off' });
  private readonly pager = h('nav', { class: 'pager', 'aria-label': 'Pages of flows' });
  private readonly place = h('span', {});
  private readonly back = h('button', { type: 'button' }, 'Previous');
  private readonly next = h('button', { type: 'button' }, 'Next');
  private readonly shortBox = h('input', { type: 'checkbox', id: 'show-short' });

  constructor(private readonly actions: Pick<Actions, 'chooseFlows'>) {
    const head = h('tr');
    for (const c of COLUMNS) {
      const b = h('button', { type: 'button', title: c.title }, c.label);
      const th = h('th', { scope: 'col', class: c.numeric ? 'num' : null }, b);
      b.addEventListener('click', () => {
        this.descending = this.sort === c.key ? !this.descending : c.numeric;
        this.sort = c.key;
        this.page = 0;
        this.show();
      });
      this.heads.set(c.key, th);
      head.append(th);
    }
    const again = (): void => {
      this.page = 0;
      this.show();
    };
    this.shortBox.addEventListener('change', again);
    this.search.addEventListener('input', again);
    this.back.addEventListener('click', () => this.turn(-1));
    this.next.addEventListener('click', () => this.turn(1));
    this.pager.append(this.back, this.place, this.next);
    this.body.addEventListener('click', (e) => this.pick(e));
    const shortChoice = h('label', { class: 'choice', for: 'show-short' }, this.shortBox, 'Show short flows');
    this.element = h(
      'section',
      { class: 'flows', 'aria-labelledby': 'flows-title' },
      h('div', { class: 'bar' }, h('h2', { id: 'flows-title' }, 'Flows'), docs('explanation/estimators.html', '?', 'How flows are classed'), this.counts, h('label', { class: 'choice filter', for: 'flow-filter' }, 'Filter', this.search), shortChoice),
      h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Table of flows' }, h('table', { class: 'flow-table' }, h('thead', {}, head), this.body)),
      this.pager,
      this.more,
    );
  }

  update(s: Snapshot): void {
    this.last = s.link?.estimate ?? null;
    this.chosen = s.chosen;
    this.colours = s.colours;
    this.capacityBps = s.link?.capacityBps ?? null;
    this.show();
  }

  reset(): void {
    this.page = 0;
  }

  private turn(by: number): void {
    this.page += by;
    this.show();
  }

  /** A click on a row, or its button, adds the flow to the charts or takes it away. */
  private pick(e: Event): void {
    const target = e.target as Element;
    if (target.closest('.class-tag')) return;
    const id = (target.closest('tr') as HTMLElement | null)?.dataset.key;
    if (id === undefined) return;
    const without = this.chosen.filter((c) => c !== id);
    this.actions.chooseFlows(without.length < this.chosen.length ? without : [...this.chosen.slice(-(MOST_CHOSEN - 1)), id]);
  }

  private show(): void {
    const e = this.last;
    for (const [k, th] of this.heads) attr(th, 'aria-sort', k === this.sort ? (this.descending ? 'descending' : 'ascending') : null);
    const wanted = filterFlows(e?.flows.filter((f) => f.cls !== 'SHORT' || this.shortBox.checked) ?? [], this.search.value);
    const flows = sortFlows(wanted, this.sort, this.descending);
    const pages = Math.max(1, Math.ceil(flows.length / PAGE));
    this.page = Math.min(Math.max(0, this.page), pages - 1);
    const first = this.page * PAGE;
    const shown = flows.slice(first, first + PAGE);
    keyed(this.body, shown, (f) => f.id, createRow, (tr, f) => this.showRow(tr, f));
    attr(this.pager, 'hidden', pages < 2);
    attr(this.back, 'disabled', this.page === 0);
    attr(this.next, 'disabled', this.page === pages - 1);
    text(this.place, `${first + 1} to ${first + shown.length} of ${flows.length}`);
    this.showCounts(e);
    // Of very many flows not all are in the answer; the classes count all.
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

  private showRow(tr: Element, f: Flow): void {
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
    text(r.rate, bitRate(f.rateBps));
    text(r.share, percent(share(f, this.capacityBps)));
    const picked = this.chosen.includes(f.id);
    attr(tr, 'data-picked', picked);
    attr(r.pick, 'aria-pressed', picked ? 'true' : 'false');
    const [swatch, words] = Array.from(r.pick.children);
    if (swatch) attr(swatch, 'data-flow', picked ? ((this.colours.get(f.id) ?? 0) % 8) + 1 : null);
    if (words) text(words, `Show the window of ${f.src}`);
    text(r.cwnd, f.cwndPkts === null ? MISSING : count(f.cwndPkts));
    text(r.srtt, milliseconds(f.srttMs));
    text(r.base, milliseconds(f.baseRttMs));
    text(r.drops, count(f.drops));
  }
}

export const flowsPanel: MakePanel = (actions) => {
  const view = new Flows(actions);
  return { element: view.element, update: (s) => view.update(s), reset: () => view.reset() };
};
