// SPDX-License-Identifier: Apache-2.0
// One packet, and its neighbours in the queue.

import { attr, h, text } from '../dom';
import { count, formatSize, milliseconds, MISSING } from '../format/units';
import { clockText } from '../charts/clock';
import { neighbours } from '../model/packets';
import type { Snapshot } from './panel';
import { nudge } from './parts';

const ROWS = ['Flow', 'Sequence', 'cwnd', 'IP packet', 'Met', 'Waited', 'Before it', 'After it', 'Same flow'] as const;

export class PacketCard {
  readonly element: HTMLElement;
  private readonly title = h('b', {}, MISSING);
  private readonly values = new Map<string, HTMLElement>();

  constructor(step: (by: number) => void) {
    const list = h('dl', { class: 'small packet-facts' });
    for (const r of ROWS) {
      const value = h('dd', { class: 'kept' }, MISSING);
      this.values.set(r, value);
      list.append(h('div', {}, h('dt', {}, r), value));
    }
    const steps = [nudge('‹', 'Packet before', () => step(-1)), nudge('›', 'Packet after', () => step(1))];
    this.element = h('div', { class: 'packet', hidden: true }, h('div', { class: 'row packet-title' }, ...steps, this.title), list);
  }

  /** Shows packet `i` of the span shown; null for none. */
  update(s: Snapshot, i: number | null): void {
    const p = s.shown.packets;
    attr(this.element, 'hidden', p === null);
    if (!p || i === null || p.time[i] === undefined) {
      text(this.title, 'Point at a packet, or step through them.');
      for (const v of this.values.values()) text(v, MISSING);
      return;
    }
    const at = p.time[i] ?? 0;
    const size = (k: number): string => formatSize(s.unit, p.occupancy[k] ?? 0, s.context);
    const name = (k: number): string => {
      const id = String(p.flow[k] ?? '');
      const f = s.link?.estimate?.flows.find((x) => x.id === id);
      return f ? `${f.src} → ${f.dst}` : `flow ${id}`;
    };
    const clock = clockText(at, 3);
    text(this.title, `${at.toFixed(6)} s${clock ? `, ${clock}` : ''}${p.dropped[i] ? ': dropped' : ''}${p.ce[i] ? ': marked CE' : ''}`);
    const n = neighbours(p, i);
    const away = (k: number): string => {
      const us = Math.abs((p.time[k] ?? 0) - at) * 1e6;
      return us < 1000 ? `${us.toFixed(1)} µs` : milliseconds(us / 1000);
    };
    const neighbour = (k: number | null): string => (k === null ? 'none in the span' : `${away(k)}, ${name(k)}${p.dropped[k] ? ', dropped' : ''}, met ${size(k)}`);
    const same = [n.flowBefore, n.flowAfter].map((k, x) => (k === null ? null : `${away(k)} ${x === 0 ? 'before' : 'after'} (${count(p.seq[k])})`));
    const values: Record<(typeof ROWS)[number], string> = {
      Flow: name(i),
      Sequence: p.seq[i] ? String(p.seq[i]) : MISSING,
      cwnd: p.cwnd[i] ? `${p.cwnd[i]} pkts` : 'not joined',
      'IP packet': `${p.ipBytes[i] ?? 0} B`,
      Met: size(i),
      Waited: p.dropped[i] ? 'dropped' : milliseconds(((p.left[i] ?? at) - at) * 1000),
      'Before it': neighbour(n.before),
      'After it': neighbour(n.after),
      'Same flow': same.filter((x) => x !== null).join(', ') || 'no other in the span',
    };
    for (const [k, v] of this.values) text(v, values[k as (typeof ROWS)[number]]);
  }
}
