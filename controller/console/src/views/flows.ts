// SPDX-License-Identifier: Apache-2.0
// The flows of the chosen port with their classes.

import { attr, h, keyed, text } from '../dom';
import { bitRate, count, milliseconds, MISSING } from '../format/units';
import { type SortKey, sortFlows } from '../model/flows';
import type { Flow, FlowClass, LinkEstimate } from '../model/types';
import type { MakePanel } from './panel';

const CLASS_WORDS: Record<FlowClass, string> = {
  LBP: 'locally bottlenecked, persistent',
  RBP: 'remotely bottlenecked, persistent',
  WL: 'window-limited, persistent',
  SHORT: 'never left slow start',
  OTHER: 'not TCP',
};

const COLUMNS: readonly { key: SortKey; label: string; title: string; numeric: boolean }[] = [
  { key: 'cls', label: 'Class', title: 'What limits the flow', numeric: false },
  { key: 'src', label: 'Flow', title: 'Sender and receiver', numeric: false },
  { key: 'rate', label: 'Rate', title: 'On the wire at this port, while active', numeric: true },
  { key: 'cwnd', label: 'cwnd, pkts', title: 'Last congestion window, segments', numeric: true },
  { key: 'srtt', label: 'srtt', title: 'Smoothed round-trip time', numeric: true },
  { key: 'base', label: 'Base RTT', title: 'Round-trip time without the queueing here', numeric: true },
  { key: 'drops', label: 'Drops', title: 'Packets dropped at this port in the window', numeric: true },
];

/** Rows shown; the rest is counted below. */
const MOST = 60;

interface Row {
  cls: Element;
  confidence: Element;
  why: Element;
  button: HTMLElement;
  src: Element;
  dst: Element;
  control: Element;
  rate: Element;
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
    h('td', { class: 'flow-cell' }, r.src, ' ', r.dst, ' ', r.control),
    r.rate,
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
  private readonly shortBox = h('input', { type: 'checkbox', id: 'show-short' });

  constructor() {
    const head = h('tr');
    for (const c of COLUMNS) {
      const b = h('button', { type: 'button', title: c.title }, c.label);
      const th = h('th', { scope: 'col', class: c.numeric ? 'num' : null }, b);
      b.addEventListener('click', () => {
        this.descending = this.sort === c.key ? !this.descending : c.numeric;
        this.sort = c.key;
        this.update(this.last);
      });
      this.heads.set(c.key, th);
      head.append(th);
    }
    this.shortBox.addEventListener('change', () => this.update(this.last));
    const shortChoice = h('label', { class: 'choice', for: 'show-short' }, this.shortBox, 'Show short flows');
    this.element = h(
      'section',
      { class: 'flows', 'aria-labelledby': 'flows-title' },
      h('div', { class: 'bar' }, h('h2', { id: 'flows-title' }, 'Flows'), this.counts, shortChoice),
      h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-labelledby': 'flows-title' }, h('table', { class: 'flow-table' }, h('thead', {}, head), this.body)),
      this.more,
    );
  }

  update(e: LinkEstimate | null): void {
    this.last = e;
    for (const [k, th] of this.heads) attr(th, 'aria-sort', k === this.sort ? (this.descending ? 'descending' : 'ascending') : null);
    const wanted = e?.flows.filter((f) => f.cls !== 'SHORT' || this.shortBox.checked) ?? [];
    const flows = sortFlows(wanted, this.sort, this.descending);
    const shown = flows.slice(0, MOST);
    keyed(this.body, shown, (f) => f.id, createRow, (tr, f) => this.showRow(tr, f));
    const c = e?.classes;
    text(this.counts, c ? `${c.LBP} LBP, ${c.RBP} RBP, ${c.WL} WL, ${c.SHORT} short${c.OTHER ? `, ${c.OTHER} other` : ''}` : '');
    // Of very many flows not all are in the answer; the classes count all.
    const total = c ? c.LBP + c.RBP + c.WL + c.OTHER + (this.shortBox.checked ? c.SHORT : 0) : flows.length;
    const missing = Math.max(flows.length, total) - shown.length;
    text(this.more, flows.length === 0 ? (e && e.flows.length > 0 ? 'Only short flows crossed this port in the window.' : 'No flow crossed this port in the window.') : missing > 0 ? `${missing} more flows are not listed.` : '');
  }

  private showRow(tr: Element, f: Flow): void {
    const r = rows.get(tr);
    if (!r) return;
    attr(tr, 'data-class', f.cls);
    attr(tr, 'data-idle', f.activeFraction !== null && f.activeFraction < 0.02);
    text(r.cls, f.cls);
    text(r.confidence, f.confidence === null ? '' : `${Math.round(f.confidence * 100)} %`);
    text(r.why, `${CLASS_WORDS[f.cls]}. ${f.why}${f.evidence ? ` (${f.evidence})` : ''}`);
    attr(r.why, 'id', `why-${f.id}`);
    attr(r.button, 'aria-describedby', `why-${f.id}`);
    text(r.src, f.src);
    text(r.dst, `→ ${f.dst}`);
    text(r.control, f.control && f.control !== 'unknown' ? f.control : f.protocol);
    text(r.rate, bitRate(f.rateBps));
    text(r.cwnd, f.cwndPkts === null ? MISSING : count(f.cwndPkts));
    text(r.srtt, milliseconds(f.srttMs));
    text(r.base, milliseconds(f.baseRttMs));
    text(r.drops, count(f.drops));
  }
}

export const flowsPanel: MakePanel = () => {
  const view = new Flows();
  return { element: view.element, update: (s) => view.update(s.link?.estimate ?? null) };
};
